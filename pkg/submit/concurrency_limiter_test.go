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

	"k8s-cli/test/testkit/must"
)

// A fakeAPIServer handles a bounded number of requests at once, each in the same time, while
// other requests are queued.
type fakeAPIServer struct {
	handle   time.Duration
	capacity chan struct{}

	mu     sync.Mutex
	done   int
	inside int
	most   int // largest number of requests in progress since the last call of seen
	refuse int // number of the next requests to reject
}

func newCounter(desks int, handle time.Duration) *fakeAPIServer {
	return &fakeAPIServer{handle: handle, capacity: make(chan struct{}, desks)}
}

func (s *fakeAPIServer) RoundTrip(*http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(""))}
	s.mu.Lock()
	s.inside++
	s.most = max(s.most, s.inside)
	refuse := s.refuse > 0
	if refuse {
		s.refuse--
		answer.StatusCode = http.StatusTooManyRequests
		answer.Header.Set("Retry-After", "2")
	}
	s.mu.Unlock()
	if !refuse {
		s.capacity <- struct{}{}
		time.Sleep(s.handle) // by the clock of the synctest bubble
		<-s.capacity
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inside--
	s.done++
	return answer, nil
}

// seen returns the number of finished requests and the largest number at once, since the last
// call.
func (s *fakeAPIServer) seen() (done, most int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	done, most = s.done, s.most
	s.done, s.most = 0, 0
	return done, most
}

// busy makes a number of workers send mutations one after the other, until end is called.
func busy(t *testing.T, p *ConcurrencyLimiter, server http.RoundTripper, workers int) (end func()) {
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
				if p.workers.acquire(ctx) != nil {
					return
				}
				p.busy.Add(1)
				response, err := client.RoundTrip(r)
				if err == nil {
					_ = response.Body.Close()
				}
				p.busy.Add(-1)
				p.workers.release()
			}
		})
	}
	return func() { cancel(); all.Wait() }
}

func TestLimitFollowsTheServer(t *testing.T) {
	for _, tt := range []struct {
		name           string
		serverCapacity int
		take           time.Duration
	}{
		{"a small server", 1, 20 * time.Millisecond},
		{"a usual one", 4, 4 * time.Millisecond},
		{"a large one that is far away", 40, 30 * time.Millisecond},
	} {
		for who, longest := range map[string]int{"alone": maxQueuedAlone, "with others": 2 * maxQueued} {
			t.Run(tt.name+", "+who, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					p, server := NewConcurrencyLimiter(), newCounter(tt.serverCapacity, tt.take)
					defer busy(t, p, server, 64)()
					tenSeconds := func() {
						for range 10 {
							if who != "alone" {
								p.onContention()
							}
							time.Sleep(time.Second)
						}
					}
					tenSeconds()
					server.seen()
					tenSeconds()
					done, most := server.seen()
					if best := int(10*time.Second/tt.take) * tt.serverCapacity; done < best*95/100 {
						t.Errorf("%d were done, %d could have been", done, best)
					}
					if most > tt.serverCapacity*3/2+longest {
						t.Errorf("%d were under way at once, where %d are handled", most, tt.serverCapacity)
					}
				})
			})
		}
	}
}

// A single user may have a long queue in the API server; under contention the queue is short.
func TestQueueIsShortUnderContention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const desks = 4
		p, server := NewConcurrencyLimiter(), newCounter(desks, 4*time.Millisecond)
		defer busy(t, p, server, 64)()
		mostIn := func(d time.Duration) int {
			server.seen()
			time.Sleep(d)
			_, most := server.seen()
			return most
		}
		time.Sleep(contentionPeriod)
		if most := mostIn(time.Second); most < desks+minQueuedAlone-1 {
			t.Errorf("alone, only %d are under way at once", most)
		}
		p.onContention()
		time.Sleep(contentionPeriod / 4)
		p.onContention()
		if most := mostIn(contentionPeriod / 2); most > desks*3/2+maxQueued {
			t.Errorf("%d are under way at once while others wait", most)
		}
		time.Sleep(contentionPeriod)
		if most := mostIn(time.Second); most < desks+minQueuedAlone-1 {
			t.Errorf("alone again, only %d are under way at once", most)
		}
	})
}

func TestLimitFallsWhenThrottled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, server := NewConcurrencyLimiter(), newCounter(16, 10*time.Millisecond)
		defer busy(t, p, server, 64)()
		time.Sleep(10 * time.Second)
		before := p.Limit()
		server.mu.Lock()
		server.refuse = 1
		server.mu.Unlock()
		time.Sleep(100 * time.Millisecond) // the requests in flight are answered
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

func TestReadsDoNotChangeTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, server := NewConcurrencyLimiter(), newCounter(1, 0)
		server.refuse = 1
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://server/jobs?watch=true", http.NoBody)
		must.Succeed(t, err)
		response, err := p.RoundTripper(server).RoundTrip(r)
		must.Succeed(t, err)
		_ = response.Body.Close()
		if p.Limit() != firstLimit {
			t.Errorf("the limit is %d", p.Limit())
		}
	})
}

// Workers that hold the semaphore have decided what to send, and wait before they send it.
func TestPauseHoldsUpRunningWorkers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, server := NewConcurrencyLimiter(), newCounter(16, 0)
		send := func(ctx context.Context) error {
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server/jobs", http.NoBody)
			must.Succeed(t, err)
			response, err := p.RoundTripper(server).RoundTrip(r)
			if err == nil {
				_ = response.Body.Close()
			}
			return err
		}
		p.workers.pause(2 * time.Second)
		p.workers.pause(3 * time.Second)
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

func TestCancelledWaiterTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g semaphore
		g.setLimit(1)
		must.Succeed(t, g.acquire(t.Context()))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := g.acquire(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("entered with %v", err)
		}
		g.release()
		if err := g.acquire(t.Context()); err != nil || g.held != 1 || len(g.waiters) != 0 {
			t.Errorf("%v, %d inside, %d wait", err, g.held, len(g.waiters))
		}
	})
}
