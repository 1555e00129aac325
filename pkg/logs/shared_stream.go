package logs

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task/logcursor"
)

const (
	hubSize  = 4 << 20     // bytes of the newest lines of a pod that are held for its followers, at most
	hubLeast = 256 << 10   // at least
	hubsSize = 64 << 20    // and of all pods, in between
	hubWait  = time.Second // for those who still need the older half of them

	// hubMargin is how much older the oldest line of a hub is than all that are
	// wanted from it: lines may stand out of order by less. A hub that is made for
	// one who reads on begins so much earlier, for others who read on.
	hubMargin = 10 * time.Second
)

// A hub reads the log of one pod for all who follow it here. It holds the
// newest lines, which have numbers. A follower that has the line before one of
// them takes them from here; one that is slower than the log and than hubSize/2
// in hubWait falls out and reads by itself until it is back.
type hub struct {
	reader
	since time.Time // it began with the lines of this second; zero for the first line of the log

	leave func()     // ends the reading
	most  func() int // bytes that it may hold
	users int        // guarded by hubs.mu
	done  chan struct{}

	mu      sync.Mutex
	lines   []line // elements are never changed: followers hold on to them
	base    int64  // number of the first of them
	size    int    // memory that they take
	ended   bool   // no more lines come
	all     bool   // because the log was read to its end
	cursors map[*cursor]bool
	changed chan struct{} // closed when lines come or end
	taken   chan struct{} // told when a follower moves on
}

// A cursor is the place of a follower that takes its lines from a hub.
type cursor struct{ next int64 }

func newHub(r reader, since time.Time, leave func(), most func() int) *hub {
	h := &hub{
		reader: r, since: since, leave: leave, most: most, users: 1,
		done: make(chan struct{}), changed: make(chan struct{}), taken: make(chan struct{}, 1), cursors: map[*cursor]bool{},
	}
	if !since.IsZero() {
		h.cursor.SkipPrefix()
		h.first = func() corev1.PodLogOptions { return corev1.PodLogOptions{SinceTime: metaTime(since)} }
	}
	return h
}

func (h *hub) run(ctx context.Context) {
	defer close(h.done)
	h.pass = func(lines []line) error { return h.publish(ctx, lines) }
	all := h.followToEnd(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.ended, h.all = true, all
	h.notify()
}

// notify is called with the lock held.
func (h *hub) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// publish takes lines in.
func (h *hub) publish(ctx context.Context, lines []line) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size > h.most() {
		h.evict(ctx)
	}
	for _, l := range lines {
		h.size += l.size()
	}
	h.lines = append(h.lines, lines...)
	h.notify()
	return ctx.Err()
}

// evict drops the older half of the lines, once those who need them have
// taken them or have had their time. Lines of one moment go together, so that
// equal ones can be counted.
func (h *hub) evict(ctx context.Context) {
	n, size := 0, 0
	for ; size < h.size/2 || n > 0 && n < len(h.lines) && h.lines[n].at.Equal(h.lines[n-1].at); n++ {
		size += h.lines[n].size()
	}
	limit := time.NewTimer(hubWait)
	defer limit.Stop()
	for patient := true; patient && h.needed(h.base+int64(n)); {
		h.mu.Unlock()
		select {
		case <-h.taken:
		case <-limit.C:
			patient = false
		case <-ctx.Done():
			patient = false
		}
		h.mu.Lock()
	}
	h.lines, h.base, h.size = append([]line(nil), h.lines[n:]...), h.base+int64(n), h.size-size
}

// needed reports whether a follower has not taken all lines before a number.
func (h *hub) needed(before int64) bool {
	for c := range h.cursors {
		if c.next < before {
			return true
		}
	}
	return false
}

// join waits until the hub is as far as the place of a follower, and returns a
// cursor behind it; nil if the hub does not hold what comes next, or has ended
// without it. A follower without a place may want the log from some time on.
func (h *hub) join(ctx context.Context, p *logcursor.Cursor, from *time.Time) *cursor {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		next, behind := h.find(p, from)
		if next >= 0 {
			c := &cursor{next}
			h.cursors[c] = true
			return c
		}
		if !behind || h.ended || ctx.Err() != nil {
			return nil
		}
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		h.mu.Lock()
	}
}

// find returns the number of the line behind a place, or -1 if it is not here;
// behind means that the hub has not read that far.
func (h *hub) find(p *logcursor.Cursor, from *time.Time) (next int64, behind bool) {
	if p.Empty() {
		if from != nil && h.covers(*from) {
			return h.base, false
		}
		return -1, false
	}
	last, run := p.Last()
	for i := len(h.lines) - 1; i >= 0; i-- {
		if h.lines[i].sum != last {
			continue
		}
		first := i
		for first > 0 && h.lines[first-1].sum == last {
			first--
		}
		return h.base + int64(min(first+run, i+1)), false
	}
	if len(h.lines) == 0 {
		return -1, true
	}
	newest := h.lines[len(h.lines)-1]
	return -1, newest.at.Before(p.Latest()) || p.Has(newest.sum)
}

// covers reports whether the hub has, or will have, all lines from some time on.
func (h *hub) covers(from time.Time) bool {
	if h.base == 0 && !h.since.After(from) {
		return true
	}
	return len(h.lines) > 0 && h.lines[0].at.Before(from.Add(-hubMargin))
}

// A batch is what take returns.
type batch struct {
	lines    []line          // the next ones
	more     <-chan struct{} // if there are none: tells of more
	over     bool            // none come any more
	whole    bool            // because the log was read to its end
	isTooOld bool            // the follower has fallen out
}

// next returns the next lines of a follower.
func (h *hub) next(c *cursor) batch {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c.next < h.base {
		return batch{isTooOld: true}
	}
	all := h.lines[c.next-h.base:]
	n := 0
	for size := 0; n < len(all) && size < batchSize; n++ {
		size += len(all[n].raw)
	}
	if c.next += int64(n); n > 0 {
		h.advanced()
	}
	return batch{lines: all[:n], more: h.changed, over: h.ended, whole: h.all}
}

// over reports whether no more lines come.
func (h *hub) over() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ended
}

// detach ends what join began.
func (h *hub) detach(c *cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.cursors, c)
	h.advanced()
}

func (h *hub) advanced() {
	select {
	case h.taken <- struct{}{}:
	default: // the hub has not heard of the last one yet
	}
}

// hubs are those of the pods that are followed here.
type hubs struct {
	mu    sync.Mutex
	byUID map[string]*hub
}

// share returns how many bytes each hub may hold.
func (s *hubs) share() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(max(hubsSize/max(len(s.byUID), 1), hubLeast), hubSize)
}

// enter returns the hub of a pod, made if there is none: it then reads from a
// second on, or from the beginning. Whoever enters has to leave.
func (s *hubs) enter(r reader, since time.Time) *hub {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h := s.byUID[r.pod.UID]; h != nil {
		h.users++
		return h
	}
	ctx, cancel := context.WithCancel(context.Background())
	h := newHub(r, since, cancel, s.share)
	s.byUID[r.pod.UID] = h
	go h.run(ctx)
	return h
}

// leave ends the hub with the last one that leaves it.
func (s *hubs) leave(h *hub) {
	s.mu.Lock()
	h.users--
	last := h.users == 0
	if last {
		delete(s.byUID, h.pod.UID)
	}
	s.mu.Unlock()
	if last {
		h.leave()
		<-h.done
	}
}
