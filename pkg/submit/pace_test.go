package submit

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A counter is an API server that handles so many requests at once, each in the
// same time, while the others wait in line.
type counter struct {
	handle time.Duration
	desks  chan struct{}

	mu     sync.Mutex
	done   int
	inside int
	most   int // that were inside at once since they were last looked at
	refuse int // of the next ones, so many
}

func newCounter(desks int, handle time.Duration) *counter {
	return &counter{handle: handle, desks: make(chan struct{}, desks)}
}

func (c *counter) RoundTrip(*http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	c.mu.Lock()
	c.inside++
	c.most = max(c.most, c.inside)
	refuse := c.refuse > 0
	if refuse {
		c.refuse--
		answer.StatusCode = http.StatusTooManyRequests
		answer.Header.Set("Retry-After", "2")
	}
	c.mu.Unlock()
	if !refuse {
		c.desks <- struct{}{}
		time.Sleep(c.handle) // of the bubble's clock
		<-c.desks
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inside--
	c.done++
	return answer, nil
}

// seen returns what was done since it was asked last, and by how many at once.
func (c *counter) seen() (done, most int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	done, most = c.done, c.most
	c.done, c.most = 0, 0
	return done, most
}

// busy has so many workers send one change after the other, until it is told to
// end them.
func busy(t *testing.T, p *Pace, server http.RoundTripper, workers int) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	client := p.RoundTripper(server)
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for ctx.Err() == nil {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/jobs", http.NoBody)
				if err != nil {
					t.Error(err)
					return
				}
				if p.workers.enter(ctx) != nil {
					return
				}
				p.busy.Add(1)
				response, err := client.RoundTrip(r)
				if err == nil {
					_ = response.Body.Close()
				}
				p.busy.Add(-1)
				p.workers.leave()
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func TestThePaceFollowsTheServer(t *testing.T) {
	for _, tt := range []struct {
		name  string
		desks int
		take  time.Duration
	}{
		{"a small server", 1, 20 * time.Millisecond},
		{"a usual one", 4, 4 * time.Millisecond},
		{"a large one that is far away", 40, 30 * time.Millisecond},
	} {
		for who, longest := range map[string]int{"alone": manyAlone, "with others": 2 * manyWaiting} {
			t.Run(tt.name+", "+who, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, server := NewPace(), newCounter(tt.desks, tt.take)
					defer busy(t, p, server, 64)()
					tenSeconds := func() {
						for range 10 {
							if who != "alone" {
								p.share()
							}
							time.Sleep(time.Second)
						}
					}
					tenSeconds()
					server.seen()
					tenSeconds()
					done, most := server.seen()
					if best := int(10*time.Second/tt.take) * tt.desks; done < best*95/100 {
						t.Errorf("%d were done, %d could have been", done, best)
					}
					if most > tt.desks*3/2+longest {
						t.Errorf("%d were under way at once, where %d are handled", most, tt.desks)
					}
				})
			})
		}
	}
}

// Who is alone may have a long line at the server, and nobody else finds one there.
func TestTheLineIsShortForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const desks = 4
		p, server := NewPace(), newCounter(desks, 4*time.Millisecond)
		defer busy(t, p, server, 64)()
		mostIn := func(d time.Duration) int {
			server.seen()
			time.Sleep(d)
			_, most := server.seen()
			return most
		}
		time.Sleep(sharedFor)
		if most := mostIn(time.Second); most < desks+fewAlone-1 {
			t.Errorf("alone, only %d are under way at once", most)
		}
		p.share()
		time.Sleep(sharedFor / 4)
		p.share()
		if most := mostIn(sharedFor / 2); most > desks*3/2+manyWaiting {
			t.Errorf("%d are under way at once while others wait", most)
		}
		time.Sleep(sharedFor)
		if most := mostIn(time.Second); most < desks+fewAlone-1 {
			t.Errorf("alone again, only %d are under way at once", most)
		}
	})
}

func TestThePaceFallsWhenItIsTooMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, server := NewPace(), newCounter(16, 10*time.Millisecond)
		defer busy(t, p, server, 64)()
		time.Sleep(10 * time.Second)
		before := p.Limit()
		server.mu.Lock()
		server.refuse = 1
		server.mu.Unlock()
		time.Sleep(100 * time.Millisecond) // what was under way is answered
		if after := p.Limit(); after > before*3/4 {
			t.Errorf("the limit was %d and is %d", before, after)
		}
		server.seen()
		time.Sleep(1800 * time.Millisecond)
		if done, _ := server.seen(); done > 0 {
			t.Errorf("%d requests came while the server had asked for 2 s of rest", done)
		}
		time.Sleep(time.Second)
		if done, _ := server.seen(); done == 0 {
			t.Error("no request came after the rest")
		}
	})
}

func TestReadsSayNothingOfThePace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, server := NewPace(), newCounter(1, 0)
		server.refuse = 1
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/jobs?watch=true", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := p.RoundTripper(server).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if p.Limit() != firstLimit {
			t.Errorf("the limit is %d", p.Limit())
		}
	})
}

// Workers inside the gate have decided what to send, and wait with it.
func TestARestHoldsUpWhoIsInside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, server := NewPace(), newCounter(16, 0)
		send := func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/jobs", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			response, err := p.RoundTripper(server).RoundTrip(r)
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		}
		p.workers.rest(2 * time.Second)
		p.workers.rest(3 * time.Second)
		began := time.Now()
		hasty, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := send(hasty); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who cannot wait gets %v", err)
		}
		if err := send(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("sent after %s of a rest of 3 s", took)
		}
		if done, _ := server.seen(); done != 1 {
			t.Errorf("%d requests came", done)
		}
	})
}

func TestWhoGivesUpTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.open(1)
		if err := g.enter(t.Context()); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("entered with %v", err)
		}
		g.leave()
		if err := g.enter(t.Context()); err != nil || g.inside != 1 || len(g.waiting) != 0 {
			t.Errorf("%v, %d inside, %d wait", err, g.inside, len(g.waiting))
		}
	})
}
