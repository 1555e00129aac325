package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// A holding opens connections of ann and leaves them open in the middle of a request.
type holding struct {
	name string
	take func(ctx context.Context, h *siege, s *server, short bool) error
}

var holdings = []holding{
	{"400 uploads that do not end", holdUploads},
	{"600 event streams", holdStreams},
	{"8 batches that do not come", holdBatches},
	{"64 downloads that are not read", holdDownloads}, // last, because the server closes them after a time
}

// An errand is what another user must be able to do meanwhile.
type errand struct {
	name string
	run  func(ctx context.Context, s *server) error
}

var errands = []errand{
	{"submit", asked(request{method: "POST", path: "/tasks/submit", body: task14})},
	{"list", asked(request{method: "GET", path: "/tasks"})},
	{"download", func(ctx context.Context, s *server) error {
		return s.download(ctx, "bob", hashOf(bobsArchive), bobsArchive)
	}},
	{"batch", asked(request{method: "POST", path: "/tasks/batch", body: "[" + task14 + "]"})},
	{"preview", asked(request{method: "POST", path: "/tasks/preview", body: task14})},
	{"upload", asked(request{method: "PUT", path: "/uploads/" + hashOf(bobsArchive), body: bobsArchive})},
	{"event stream", heardEvent},
}

const bobsArchive = "a hundred bytes of bob's"

// asked is an errand that consists of one request of bob.
func asked(r request) func(context.Context, *server) error {
	return func(ctx context.Context, s *server) error {
		r.header = s.as("bob")
		if a := s.send(ctx, r); a.code != 200 {
			return fmt.Errorf("%s: %s", r, a)
		}
		return nil
	}
}

// heardEvent opens a stream of events and waits for the event of a submission.
func heardEvent(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeout(ctx, wireTimeout)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/events", nil)
	if err != nil {
		return err
	}
	q.Header.Set("X-User", "bob")
	q.Header.Set("Accept", "text/event-stream")
	response, err := (&http.Client{}).Do(q)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != 200 {
		return fmt.Errorf("GET /events: %d", response.StatusCode)
	}
	if err := asked(request{method: "POST", path: "/tasks/submit", body: task14})(ctx, s); err != nil {
		return err
	}
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "data:") {
			return nil
		}
	}
	return fmt.Errorf("no event came: %w", errors.Join(lines.Err(), ctx.Err()))
}

// slotAttacks take all slots of one kind while another user works.
func slotAttacks() (all []attack) {
	for _, e := range errands {
		for _, h := range holdings {
			all = append(all, long(besieged(h.name+"; "+e.name, []holding{h}, e)))
		}
		all = append(all, besieged("all of it; "+e.name, holdings, e))
	}
	return append(all, long(pressedSubmits()))
}

const sieges = 3 // attempts to run an errand before the server closes the first connection

// besieged runs an errand while connections are held. The attack also gets through if the
// errand succeeds only because the server has closed connections.
func besieged(name string, held []holding, e errand) attack {
	return scene(name, "another user's works", func(ctx context.Context, w *environment) error {
		s, err := w.serve(ctx, busy)
		if err != nil {
			return err
		}
		if err := asked(request{method: "PUT", path: "/uploads/" + hashOf(bobsArchive), body: bobsArchive})(ctx, s); err != nil {
			return err
		}
		archive, err := s.keep(ctx, "ann", 16<<20)
		if err != nil {
			return err
		}
		for range sieges {
			h := &siege{archive: archive}
			for _, one := range held {
				if err := one.take(ctx, h, s, w.options.short); err != nil {
					h.end()
					return fmt.Errorf("hold %s: %w", one.name, err)
				}
			}
			began := time.Now()
			err = e.run(ctx, s)
			cut, unknown := h.cut()
			h.end()
			if err = errors.Join(err, unknown); err != nil {
				return fmt.Errorf("after %s: %w", time.Since(began).Round(time.Millisecond), err)
			}
			if cut == 0 || e.name != "download" { // only a download waits for a slot that ann's downloads hold
				return nil
			}
			err = fmt.Errorf("it worked after %s, when %d downloads had been ended", time.Since(began).Round(time.Millisecond), cut)
		}
		return err
	})
}

// pressedSubmits measures submissions while all holdings are open.
func pressedSubmits() attack {
	const right = "200 submissions, p99 below 100 ms, and never 500 MB of memory"
	return attack{name: "all of it; 200 submissions", want: right, try: func(ctx context.Context, w *environment) result {
		s, err := w.serve(ctx, busy)
		if err != nil {
			return result{got: err.Error()}
		}
		archive, err := s.keep(ctx, "ann", 16<<20)
		if err != nil {
			return result{got: err.Error()}
		}
		h := &siege{archive: archive}
		defer h.end()
		for _, one := range holdings {
			if err := one.take(ctx, h, s, false); err != nil {
				return result{got: err.Error()}
			}
		}
		var took []time.Duration
		for range 200 {
			began := time.Now()
			if err := errands[0].run(ctx, s); err != nil {
				return result{got: err.Error()}
			}
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		peak, err := s.peak()
		if err != nil {
			return result{got: err.Error()}
		}
		p99 := took[len(took)*99/100]
		got := fmt.Sprintf("submissions p50 %s, p99 %s; at most %d MB of memory", took[len(took)/2].Round(time.Microsecond), p99.Round(time.Microsecond), peak>>20)
		return result{got: got, figure: got, held: p99 < 100*time.Millisecond && peak < 500<<20}
	}}
}
