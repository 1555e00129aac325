package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
)

// withoutEvents returns a client of a server that handles these requests and sends no events.
func withoutEvents(t *testing.T, mux *http.ServeMux) *client.Client {
	t.Helper()
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	c := client.New(server.URL, "ann")
	t.Cleanup(c.Close)
	return c
}

// TestWatchRedrawsInPlace watches tasks that change all the time on a terminal with 10 rows, until
// the fourth request for the list.
func TestWatchRedrawsInPlace(t *testing.T) {
	var tasks []task.Status
	for n := range 120 {
		tasks = append(tasks, task.Status{ID: fmt.Sprintf("task%04d", n), CreatedAt: at(n), Phase: task.Running})
	}
	var largest atomic.Int32
	ctx, interrupt := context.WithCancel(t.Context())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tasks", func(w http.ResponseWriter, r *http.Request) {
		q, err := query.Parse(r.URL.Query())
		if err != nil {
			t.Error(err)
		}
		largest.Store(max(largest.Load(), int32(q.Limit)))
		writeList(w, q, tasks)
	})
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for n := 1; r.Context().Err() == nil; n++ {
			raw, _ := json.Marshal(task.Event{ID: task.EventID{Seq: 2, N: n}, Kind: task.KindTask, TaskID: "task0001", Type: task.EventPhase, Status: "running"})
			fmt.Fprintf(w, "id: 2.%d\ndata: %s\n\n", n, raw)
			_ = http.NewResponseController(w).Flush()
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	var out, talk bytes.Buffer
	began := time.Now()
	var requests []time.Time
	c := client.New(server.URL, "ann").WrapTransport(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/tasks" && !r.URL.Query().Has("status") {
				if requests = append(requests, time.Now()); len(requests) == 4 {
					interrupt()
				}
			}
			return next.RoundTrip(r)
		})
	})
	defer c.Close()
	e := &env{
		Console: console.Console{
			Out: console.NewOutput(&out), ErrOut: &talk, Style: show.Style{Live: true}, Size: func() (columns, rows int) { return 40, 10 },
		},
		interrupts: func(context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
	}
	err := runLive(t.Context(), e, c, &printer{&e.Console, show.Text}, liveTasks(c, &printer{&e.Console, show.Text}, listing{}))
	if exitCode(err, true) != exit.Interrupted {
		t.Errorf("the error is %v", err)
	}
	for n := 1; n < len(requests); n++ {
		if pause := requests[n].Sub(requests[n-1]); pause < livePause {
			t.Errorf("request %d came %s after the one before", n, pause)
		}
	}
	if largest.Load() != 10-besideRows {
		t.Errorf("a request asked for %d tasks", largest.Load())
	}
	text := out.String()
	if !strings.HasPrefix(text, "\x1b[?25lTask ID") || !strings.HasSuffix(text, "\n\x1b[?25h") {
		t.Errorf("the cursor is not hidden, and shown again in a new line: %q", text)
	}
	// The ages of the tasks are drawn again each second.
	if frames := strings.Count(text, "task0119"); frames > len(requests)+int(time.Since(began)/time.Second)+1 {
		t.Errorf("%d frames for %d requests", frames, len(requests))
	}
	for line := range strings.Lines(text) {
		if len(line) > 40+len("\x1b[?25l\x1b[12A\r\x1b[K\r\n\x1b[J") {
			t.Errorf("a line is too long: %q", line)
		}
	}
	if !strings.Contains(text, "Total tasks: 120 (6 shown)") {
		t.Errorf("it lacks the total: %q", text)
	}
}

// TestWatchShowsRunningTasksFirst watches a sweep with many waiting tasks on a terminal that becomes
// narrower after the first frame.
func TestWatchShowsRunningTasksFirst(t *testing.T) {
	var tasks []task.Status
	for n := range 40 {
		s := task.Status{ID: fmt.Sprintf("task%04d", n), CreatedAt: at(n), Phase: task.Pending}
		if n < 2 {
			s.Phase = task.Running
		}
		tasks = append(tasks, s)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tasks", func(w http.ResponseWriter, r *http.Request) {
		q, err := query.Parse(r.URL.Query())
		if err != nil {
			t.Error(err)
		}
		writeList(w, q, tasks)
	})
	c := withoutEvents(t, mux)
	var out bytes.Buffer
	narrow := false
	e := &env{
		Console: console.Console{Out: console.NewOutput(&out), ErrOut: &out, Style: show.Style{Live: true}, Size: func() (columns, rows int) {
			switch {
			case strings.Count(out.String(), "task0039") > 1:
				interrupt()
			case out.Len() > 0:
				narrow = true
			}
			if narrow {
				return 40, 10
			}
			return 90, 10
		}},
		interrupts: func(context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
	}
	p := &printer{&e.Console, show.Text}
	if err := runLive(t.Context(), e, c, p, liveTasks(c, p, listing{})); exitCode(err, true) != exit.Interrupted {
		t.Errorf("the error is %v", err)
	}
	first, second, cleared := strings.Cut(out.String(), "\x1b[H\x1b[2J")
	if !cleared {
		t.Fatalf("the terminal is not cleared after it became narrower: %q", out.String())
	}
	for _, frame := range []string{first, second} {
		var ids []string
		for _, line := range strings.Split(frame, "\n") {
			if id, _, ok := strings.Cut(line, " "); ok && strings.HasPrefix(id, "task0") {
				ids = append(ids, id)
			}
		}
		if len(ids) < 6 || strings.Join(ids[:6], " ") != "task0001 task0000 task0039 task0038 task0037 task0036" {
			t.Errorf("the frame has the tasks %v", ids)
		}
	}
}

// A roundTrip is an http.RoundTripper.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestWatchEndsWithTheStream checks that an error of the server ends the list and shows the
// cursor again.
func TestWatchEndsWithTheStream(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/events" {
			w.Header().Set("Content-Type", "text/event-stream")
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"detail": "no"}`))
	}))
	defer server.Close()
	var out bytes.Buffer
	c := client.New(server.URL, "ann")
	defer c.Close()
	e := &env{
		Console:    console.Console{Out: console.NewOutput(&out), ErrOut: &out, Style: show.Style{Live: true}, Size: func() (columns, rows int) { return 80, 24 }},
		interrupts: func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
	}
	p := &printer{&e.Console, show.Text}
	if err := runLive(t.Context(), e, c, p, liveTasks(c, p, listing{})); err == nil || err.Error() != "no" || out.Len() > 0 {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

// Samples come without events, so jobs top --watch requests them again after some time.
func TestWatchOfTopNeedsNoEvents(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	requests := 0
	mux := http.NewServeMux()
	mux.HandleFunc("GET /tasks/a/top", func(w http.ResponseWriter, _ *http.Request) {
		if requests++; requests == 2 {
			interrupt()
		}
		encode(w, task.TopTask{ID: "a", Problem: "no metrics"})
	})
	c := withoutEvents(t, mux)
	var out bytes.Buffer
	e := &env{
		Console:    console.Console{Out: console.NewOutput(&out), ErrOut: &out, Style: show.Style{Live: true}, Size: func() (columns, rows int) { return 80, 24 }},
		interrupts: func(context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
	}
	top := liveTop(c, []string{"a"})
	top.every = time.Second
	if err := runLive(t.Context(), e, c, &printer{&e.Console, show.Text}, top); exitCode(err, true) != exit.Interrupted || !strings.Contains(out.String(), "no metrics") {
		t.Errorf("error %v, output %q", err, out.String())
	}
}
