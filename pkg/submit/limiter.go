package submit

import (
	"context"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// A ConcurrencyLimiter finds out how many objects at once the API server lets us handle, and
// lets no more be under way. It is TCP Vegas' rule: as long as answers take about
// as long as the quickest of late, the server has room for one more; once they
// take so much longer that several requests must be waiting there, it has one too
// many, and a longer line would only make everybody wait. Where the server says
// itself that it is too much, the limiter falls by a third and pauses for as long as
// it was told.
//
// It holds up workers before they decide what to do, not what they send: that
// rests on what was so a moment ago. In a pause it holds up both: what was decided
// too long ago by its end is not sent.
type ConcurrencyLimiter struct {
	workers  semaphore
	busy     atomic.Int64 // workers that have something to do
	inFlight atomic.Int64 // changes that are not answered

	mu             sync.Mutex
	limit          float64          // of workers
	minRTT         [2]time.Duration // in this window and the one before; 0 if none was seen
	rttWindowStart time.Time        // when this one began
	lastDecrease   time.Time        // when the limit fell last
	lastContention time.Time        // when several users last had tasks to create
}

const (
	firstLimit       = 16
	minQueued        = 3 // by this estimate there is room for one more
	maxQueued        = 8 // and by this there is one too many
	minQueuedAlone   = 16
	maxQueuedAlone   = 40
	contentionPeriod = 10 * time.Second // after which a user is alone again
	rttWindow        = 15 * time.Second
	decreaseInterval = 100 * time.Millisecond // between two falls: what was under way then says nothing new
	maxRetryAfter    = 30 * time.Second
)

// NewConcurrencyLimiter returns one that begins carefully.
func NewConcurrencyLimiter() *ConcurrencyLimiter {
	p := &ConcurrencyLimiter{limit: firstLimit}
	p.workers.setLimit(firstLimit)
	return p
}

// Limit returns how many objects may be handled at once.
func (p *ConcurrencyLimiter) Limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(math.Round(p.limit))
}

// RoundTripper returns a transport that tells the limiter how the API server takes
// changes.
func (p *ConcurrencyLimiter) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return limitedTransport{next, p}
}

type limitedTransport struct {
	http.RoundTripper
	limiter *ConcurrencyLimiter
}

func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return t.RoundTripper.RoundTrip(r)
	}
	if err := t.limiter.workers.awaitUnpaused(r.Context()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	sentAt, inFlight := time.Now(), t.limiter.inFlight.Add(1)
	defer t.limiter.inFlight.Add(-1)
	response, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err != nil: // it may not have got there at all
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		t.limiter.onThrottled(retryAfter(response.Header))
	default:
		t.limiter.onResponse(time.Since(sentAt), inFlight)
	}
	return response, err
}

// WrappedRoundTripper lets client-go look through.
func (t limitedTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// retryAfter returns for how long a server wants to be left alone.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// onResponse is told of a change that was sent as one of so many.
func (p *ConcurrencyLimiter) onResponse(took time.Duration, inFlight int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.rttWindowStart) > rttWindow {
		p.rttWindowStart, p.minRTT = now, [2]time.Duration{0, p.minRTT[0]}
	}
	if p.minRTT[0] == 0 || took < p.minRTT[0] {
		p.minRTT[0] = took
	}
	minRTT := p.minRTT[0]
	if p.minRTT[1] > 0 {
		minRTT = min(minRTT, p.minRTT[1])
	}
	waiting := float64(inFlight) * (1 - float64(minRTT)/float64(took))
	least, most := float64(minQueuedAlone), float64(maxQueuedAlone)
	if time.Since(p.lastContention) < contentionPeriod {
		least, most = minQueued, maxQueued
	}
	switch {
	case waiting < least && float64(p.busy.Load()) >= math.Floor(p.limit):
		p.limit += 1 / p.limit // one more for each round of all that are under way
	case waiting > most:
		p.limit = max(p.limit-1/p.limit, 1)
	}
	p.workers.setLimit(int(math.Round(p.limit)))
}

// onContention is told that several users have tasks to create.
func (p *ConcurrencyLimiter) onContention() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.lastContention) >= contentionPeriod {
		p.limit = min(p.limit, firstLimit)
		p.workers.setLimit(int(math.Round(p.limit)))
	}
	p.lastContention = now
}

func (p *ConcurrencyLimiter) onThrottled(retryAfter time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.lastDecrease) > decreaseInterval {
		p.lastDecrease, p.limit = now, max(p.limit*2/3, 1)
	}
	p.workers.setLimit(int(math.Round(p.limit)))
	p.workers.pause(retryAfter)
}

// A semaphore lets so many in at once, in the order in which they came.
type semaphore struct {
	mu       sync.Mutex
	limit    int
	held     int
	pauses   int           // how many pauses are not over
	unpaused chan struct{} // closed with the last of them
	waiters  []chan struct{}
}

func (g *semaphore) acquire(ctx context.Context) error {
	g.mu.Lock()
	if g.pauses == 0 && g.held < g.limit && len(g.waiters) == 0 {
		g.held++
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.waiters = append(g.waiters, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.waiters {
		if w == turn {
			g.waiters = append(g.waiters[:i], g.waiters[i+1:]...)
			return ctx.Err()
		}
	}
	g.held-- // its turn came just now
	g.wakeWaiters()
	return ctx.Err()
}

func (g *semaphore) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held--
	g.wakeWaiters()
}

func (g *semaphore) setLimit(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.wakeWaiters()
}

// pause lets nobody in for a while.
func (g *semaphore) pause(d time.Duration) {
	if d == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pauses++; g.pauses == 1 {
		g.unpaused = make(chan struct{})
	}
	time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.pauses--; g.pauses == 0 {
			close(g.unpaused)
		}
		g.wakeWaiters()
	})
}

// awaitUnpaused waits until there is no pause, for who is inside already.
func (g *semaphore) awaitUnpaused(ctx context.Context) error {
	for {
		g.mu.Lock()
		paused, unpaused := g.pauses > 0, g.unpaused
		g.mu.Unlock()
		if !paused {
			return nil
		}
		select {
		case <-unpaused:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// wakeWaiters lets in who waits, as far as there is room. It is called with the lock held.
func (g *semaphore) wakeWaiters() {
	for g.pauses == 0 && g.held < g.limit && len(g.waiters) > 0 {
		close(g.waiters[0])
		g.waiters = g.waiters[1:]
		g.held++
	}
}
