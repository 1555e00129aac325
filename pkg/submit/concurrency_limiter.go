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
func (l *ConcurrencyLimiter) Limit() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(math.Round(l.limit))
}

// RoundTripper returns a transport that reports the responses to mutations to the limiter.
func (l *ConcurrencyLimiter) RoundTripper(next http.RoundTripper) http.RoundTripper {
	return limitedTransport{next, l}
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
func (l *ConcurrencyLimiter) onResponse(took time.Duration, inFlight int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.rttWindowStart) > rttWindow {
		l.rttWindowStart, l.minRTT = now, [2]time.Duration{0, l.minRTT[0]}
	}
	if l.minRTT[0] == 0 || took < l.minRTT[0] {
		l.minRTT[0] = took
	}
	minRTT := l.minRTT[0]
	if l.minRTT[1] > 0 {
		minRTT = min(minRTT, l.minRTT[1])
	}
	waiting := float64(inFlight) * (1 - float64(minRTT)/float64(took))
	least, most := float64(minQueuedAlone), float64(maxQueuedAlone)
	if time.Since(l.lastContention) < contentionPeriod {
		least, most = minQueued, maxQueued
	}
	switch {
	case waiting < least && float64(l.busy.Load()) >= math.Floor(l.limit):
		l.limit += 1 / l.limit // one more for each round of requests in flight
	case waiting > most:
		l.limit = max(l.limit-1/l.limit, 1)
	}
	l.workers.setLimit(int(math.Round(l.limit)))
}

// onContention records that several users have tasks to create.
func (l *ConcurrencyLimiter) onContention() {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if now.Sub(l.lastContention) >= contentionPeriod {
		l.limit = min(l.limit, firstLimit)
		l.workers.setLimit(int(math.Round(l.limit)))
	}
	l.lastContention = now
}

func (l *ConcurrencyLimiter) onThrottled(retryAfter time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.lastDecrease) > decreaseInterval {
		l.lastDecrease, l.limit = now, max(l.limit*2/3, 1)
	}
	l.workers.setLimit(int(math.Round(l.limit)))
	l.workers.pause(retryAfter)
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

func (s *semaphore) acquire(ctx context.Context) error {
	s.mu.Lock()
	if s.pauses == 0 && s.held < s.limit && len(s.waiters) == 0 {
		s.held++
		s.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	s.waiters = append(s.waiters, turn)
	s.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, w := range s.waiters {
		if w == turn {
			s.waiters = append(s.waiters[:i], s.waiters[i+1:]...)
			return ctx.Err()
		}
	}
	s.held-- // the slot was granted at the same moment
	s.wakeWaiters()
	return ctx.Err()
}

func (s *semaphore) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held--
	s.wakeWaiters()
}

func (s *semaphore) setLimit(limit int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	s.wakeWaiters()
}

// pause grants no slot for the duration d.
func (s *semaphore) pause(d time.Duration) {
	if d == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pauses++; s.pauses == 1 {
		s.unpaused = make(chan struct{})
	}
	time.AfterFunc(d, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.pauses--; s.pauses == 0 {
			close(s.unpaused)
		}
		s.wakeWaiters()
	})
}

// awaitUnpaused waits until no pause is in progress; it is for holders of a slot.
func (s *semaphore) awaitUnpaused(ctx context.Context) error {
	for {
		s.mu.Lock()
		paused, unpaused := s.pauses > 0, s.unpaused
		s.mu.Unlock()
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
func (s *semaphore) wakeWaiters() {
	for s.pauses == 0 && s.held < s.limit && len(s.waiters) > 0 {
		close(s.waiters[0])
		s.waiters = s.waiters[1:]
		s.held++
	}
}
