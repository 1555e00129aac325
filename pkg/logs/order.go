package logs

import (
	"sync"
	"time"
)

// liveWait is how long the lines of other nodes wait for the log of a running pod, from which no line may
// come for hours. The log of a pod that has ended delays the other nodes until it is at its end.
const liveWait = 300 * time.Millisecond

// An order lets the nodes of a task write their lines in the order of time, as far as the logs are
// already there.
type order struct {
	mu      sync.Mutex
	sources []*source
	changed chan struct{}   // closed when a source has its next line, or delays the others no longer
	done    <-chan struct{} // closed when the reader needs no more lines
}

// A source is the log of one node. A nil source is the only one, and waits for nothing.
type source struct {
	order  *order
	rank   int
	next   time.Time // of the line that the source writes next; the zero Time while the source reads
	since  time.Time // when the source began to read
	live   bool      // the source follows a running pod
	absent bool      // the source waits for its turn to read
}

func newOrder(done <-chan struct{}) *order { return &order{changed: make(chan struct{}), done: done} }

func (o *order) add(rank int) *source {
	s := &source{order: o, rank: rank, since: time.Now()}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.sources = append(o.sources, s)
	return s
}

// change changes the state of a source.
func (s *source) change(f func()) {
	if s == nil {
		return
	}
	s.order.mu.Lock()
	defer s.order.mu.Unlock()
	f()
	s.since = time.Now()
	s.order.notify()
}

func (s *source) setLive(on bool) { s.change(func() { s.live = on }) }

func (s *source) setAbsent(on bool) { s.change(func() { s.absent = on }) }

// remove is for a source without further lines.
func (s *source) remove() { s.change(func() { s.absent = true }) }

// notify wakes the sources that wait. The caller holds the lock.
func (o *order) notify() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// turn waits until no other source has, or may soon have, a line that is older than the first of lines.
// turn returns how many lines the source may write before the next line of another source.
func (s *source) turn(lines []line) int {
	if s == nil || lines[0].isMore {
		return piecesOf(s, lines)
	}
	o := s.order
	o.mu.Lock()
	defer o.mu.Unlock()
	s.next = lines[0].at
	o.notify()
	for {
		until, wait := s.others()
		if wait == 0 && (until == nil || s.before(s.next, until)) {
			n := 1
			for n < len(lines) && (lines[n].isMore || until == nil || s.before(lines[n].at, until)) {
				n++
			}
			s.next, s.since = time.Time{}, time.Now()
			o.notify() // the others wait for the next line of s, but not for ever
			return n
		}
		if !o.await(wait) {
			return len(lines)
		}
	}
}

// piecesOf returns how many lines continue the line before, or all lines of the only source.
func piecesOf(s *source, lines []line) (n int) {
	for n < len(lines) && (s == nil || lines[n].isMore) {
		n++
	}
	return n
}

// before reports whether a line of s comes before the next line of another source. Lines of the same
// time are in the order of the ranks.
func (s *source) before(at time.Time, other *source) bool {
	return at.Before(other.next) || at.Equal(other.next) && s.rank < other.rank
}

// others returns the source with the oldest next line, or nil. wait is not 0 if another source still
// reads: the time until it counts no longer, or a negative time if the end of its log must come first.
// The caller holds the lock.
func (s *source) others() (first *source, wait time.Duration) {
	for _, other := range s.order.sources {
		switch {
		case other == s || other.absent:
		case !other.next.IsZero():
			if first == nil || other.before(other.next, first) {
				first = other
			}
		case !other.live:
			return nil, -1
		case time.Since(other.since) < liveWait:
			wait = max(wait, liveWait-time.Since(other.since))
		}
	}
	return first, wait
}

// await waits for a change, for at most wait if it is positive. await returns false if the reader needs
// no more lines. The caller holds the lock.
func (o *order) await(wait time.Duration) bool {
	var late <-chan time.Time
	if wait > 0 {
		late = time.After(wait)
	}
	changed := o.changed
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-changed:
	case <-late:
	case <-o.done:
		return false
	}
	return true
}
