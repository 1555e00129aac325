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

// A Pace finds out how many objects at once the API server lets us handle, and
// lets no more be under way. It is TCP Vegas' rule: as long as answers take about
// as long as the quickest of late, the server has room for one more; once they
// take so much longer that several requests must be waiting there, it has one too
// many, and a longer line would only make everybody wait. Where the server says
// itself that it is too much, the pace falls by a third and rests for as long as
// it was told.
//
// It holds up workers before they decide what to do, not what they send: that
// rests on what was so a moment ago. In a rest it holds up both: what was decided
// too long ago by its end is not sent.
type Pace struct {
	workers gate
	busy    atomic.Int64 // workers that have something to do
	sent    atomic.Int64 // changes that are not answered

	mu       sync.Mutex
	limit    float64          // of workers
	quickest [2]time.Duration // in this window and the one before; 0 if none was seen
	window   time.Time        // when this one began
	fallen   time.Time        // when the limit fell last
	shared   time.Time        // when several users last had tasks to create
}

const (
	firstLimit  = 16
	fewWaiting  = 3 // by this estimate there is room for one more
	manyWaiting = 8 // and by this there is one too many
	fewAlone    = 16
	manyAlone   = 40
	sharedFor   = 10 * time.Second // after which a user is alone again
	paceWindow  = 15 * time.Second
	fallPause   = 100 * time.Millisecond // between two falls: what was under way then says nothing new
	maxRest     = 30 * time.Second
)

// NewPace returns one that begins carefully.
func NewPace() *Pace {
	p := &Pace{limit: firstLimit}
	p.workers.open(firstLimit)
	return p
}

// Limit returns how many objects may be handled at once.
func (p *Pace) Limit() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return int(math.Round(p.limit))
}

// RoundTripper returns a transport that tells the pace how the API server takes
// changes.
func (p *Pace) RoundTripper(next http.RoundTripper) http.RoundTripper { return paced{next, p} }

type paced struct {
	http.RoundTripper
	pace *Pace
}

func (t paced) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		return t.RoundTripper.RoundTrip(r)
	}
	if err := t.pace.workers.rested(r.Context()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	began, beside := time.Now(), t.pace.sent.Add(1)
	defer t.pace.sent.Add(-1)
	response, err := t.RoundTripper.RoundTrip(r)
	switch {
	case err != nil: // it may not have got there at all
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusServiceUnavailable:
		t.pace.refused(restOf(response.Header))
	default:
		t.pace.answered(time.Since(began), beside)
	}
	return response, err
}

// WrappedRoundTripper lets client-go look through.
func (t paced) WrappedRoundTripper() http.RoundTripper { return t.RoundTripper }

// restOf returns for how long a server wants to be left alone.
func restOf(h http.Header) time.Duration {
	seconds, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil || seconds < 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRest)
}

// answered is told of a change that was sent as one of so many.
func (p *Pace) answered(took time.Duration, beside int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.window) > paceWindow {
		p.window, p.quickest = now, [2]time.Duration{0, p.quickest[0]}
	}
	if p.quickest[0] == 0 || took < p.quickest[0] {
		p.quickest[0] = took
	}
	quickest := p.quickest[0]
	if p.quickest[1] > 0 {
		quickest = min(quickest, p.quickest[1])
	}
	waiting := float64(beside) * (1 - float64(quickest)/float64(took))
	few, many := float64(fewAlone), float64(manyAlone)
	if time.Since(p.shared) < sharedFor {
		few, many = fewWaiting, manyWaiting
	}
	switch {
	case waiting < few && float64(p.busy.Load()) >= math.Floor(p.limit):
		p.limit += 1 / p.limit // one more for each round of all that are under way
	case waiting > many:
		p.limit = max(p.limit-1/p.limit, 1)
	}
	p.workers.open(int(math.Round(p.limit)))
}

// share is told that several users have tasks to create.
func (p *Pace) share() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if now.Sub(p.shared) >= sharedFor {
		p.limit = min(p.limit, firstLimit)
		p.workers.open(int(math.Round(p.limit)))
	}
	p.shared = now
}

func (p *Pace) refused(rest time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.fallen) > fallPause {
		p.fallen, p.limit = now, max(p.limit*2/3, 1)
	}
	p.workers.open(int(math.Round(p.limit)))
	p.workers.rest(rest)
}

// A gate lets so many in at once, in the order in which they came.
type gate struct {
	mu      sync.Mutex
	limit   int
	inside  int
	closed  int           // how many rests are not over
	over    chan struct{} // closed with the last of them
	waiting []chan struct{}
}

func (g *gate) enter(ctx context.Context) error {
	g.mu.Lock()
	if g.closed == 0 && g.inside < g.limit && len(g.waiting) == 0 {
		g.inside++
		g.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, w := range g.waiting {
		if w == turn {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return ctx.Err()
		}
	}
	g.inside-- // its turn came just now
	g.admit()
	return ctx.Err()
}

func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inside--
	g.admit()
}

func (g *gate) open(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.admit()
}

// rest lets nobody in for a while.
func (g *gate) rest(d time.Duration) {
	if d == 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed++; g.closed == 1 {
		g.over = make(chan struct{})
	}
	time.AfterFunc(d, func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.closed--; g.closed == 0 {
			close(g.over)
		}
		g.admit()
	})
}

// rested waits until there is no rest, for who is inside already.
func (g *gate) rested(ctx context.Context) error {
	for {
		g.mu.Lock()
		closed, over := g.closed > 0, g.over
		g.mu.Unlock()
		if !closed {
			return nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// admit lets in who waits, as far as there is room. It is called with the lock held.
func (g *gate) admit() {
	for g.closed == 0 && g.inside < g.limit && len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = g.waiting[1:]
		g.inside++
	}
}
