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

// A ConcurrencyLimiter finds and enforces the number of objects that the API server can handle
// at once. The limiter follows TCP Vegas. While responses take about as long as the fastest
// recent ones, the limiter admits one more object. Once responses take so much longer that
// several requests must be queued in the API server, the limiter admits one less, because a
// longer queue only delays every request. If the API server rejects a request as one too many,
// the limit falls by a third, and the limiter pauses for the time in Retry-After.
//
// The limiter delays workers before they decide and not the requests that follow, because a
// decision rests on a fresh read point. A pause delays both; a request whose read point has
// expired at the end of the pause is not sent.
type ConcurrencyLimiter struct {
	workers  semaphore
	busy     atomic.Int64 // workers that reconcile an object
	inFlight atomic.Int64 // mutations without a response yet

	mu             sync.Mutex
	limit          float64          // of workers
	minRTT         [2]time.Duration // in this window and in the previous one; 0 if there was no response
	rttWindowStart time.Time        // start of this window
	lastDecrease   time.Time        // last decrease of the limit after a rejection
	lastContention time.Time        // when several users last had tasks to create
}

const (
	firstLimit       = 16
	minQueued        = 3 // with fewer requests queued in the API server by the estimate, the limit rises
	maxQueued        = 8 // with more, the limit falls
	minQueuedAlone   = 16
	maxQueuedAlone   = 40
	contentionPeriod = 10 * time.Second // then a user counts as alone again
	rttWindow        = 15 * time.Second
	decreaseInterval = 100 * time.Millisecond // between two decreases: requests that were in flight at the first one give no new information
	maxRetryAfter    = 30 * time.Second
)

// NewConcurrencyLimiter returns a limiter that begins at firstLimit.
func NewConcurrencyLimiter() *ConcurrencyLimiter {
	p := &ConcurrencyLimiter{limit: firstLimit}
	p.workers.setLimit(firstLimit)
	return p
}

// Limit returns how many objects may be reconciled at once.
func (p *ConcurrencyLimiter) Limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(math.Round(p.limit))
}

// RoundTripper returns a transport that reports the responses to mutations to the limiter.
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
	case err != nil: // the request may not have reached the API server
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		t.limiter.onThrottled(retryAfter(response.Header))
	default:
		t.limiter.onResponse(time.Since(sentAt), inFlight)
	}
	return response, err
}

// WrappedRoundTripper implements the RoundTripperWrapper interface of apimachinery.
func (t limitedTransport) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// retryAfter returns the pause that a server requests, at most maxRetryAfter.
func retryAfter(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// onResponse adjusts the limit after a response; inFlight is the number of mutations in flight
// when the request was sent.
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
		p.limit += 1 / p.limit // one more for each round of requests in flight
	case waiting > most:
		p.limit = max(p.limit-1/p.limit, 1)
	}
	p.workers.setLimit(int(math.Round(p.limit)))
}

// onContention records that several users have tasks to create.
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

// A semaphore admits at most limit holders, in the order of their requests.
type semaphore struct {
	mu       sync.Mutex
	limit    int
	held     int
	pauses   int           // number of pauses in progress
	unpaused chan struct{} // closed when the last pause ends
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
	g.held-- // the slot was granted at the same moment
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

// pause grants no slot for the duration d.
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

// awaitUnpaused waits until no pause is in progress; it is for holders of a slot.
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

// wakeWaiters grants free slots to waiters. The caller holds g.mu.
func (g *semaphore) wakeWaiters() {
	for g.pauses == 0 && g.held < g.limit && len(g.waiters) > 0 {
		close(g.waiters[0])
		g.waiters = g.waiters[1:]
		g.held++
	}
}
