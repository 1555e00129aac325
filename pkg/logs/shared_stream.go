package logs

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task/logpos"
)

const (
	hubSize  = 4 << 20     // largest size of the newest lines of a pod that a hub holds for its followers, in bytes
	hubLeast = 256 << 10   // smallest limit of one hub, in bytes
	hubsSize = 64 << 20    // total size that the hubs of all pods share, in bytes
	hubWait  = time.Second // longest wait for followers that still need the older half of the lines

	// hubMargin is the margin by which the oldest line of a hub must be older than the
	// lines that a follower requests, because the times of lines may be out of order by
	// less. A hub that begins for a resumed log begins earlier by this margin, so that
	// other resumed logs can use the hub.
	hubMargin = 10 * time.Second
)

// A hub is a shared stream: it reads the log of one pod once for all followers on this
// server. A hub holds the newest lines, which are numbered. A follower that already has the
// line before one of these lines reads from the hub. When the hub is full, a follower that
// still needs the older half of the lines after hubWait is detached. A detached follower
// reads from a connection of its own until it has caught up.
type hub struct {
	reader
	since time.Time // second from which the hub reads; zero for the beginning of the log

	leave func()     // ends the reading
	most  func() int // returns the limit of the hub, in bytes
	users int        // guarded by hubs.mu
	done  chan struct{}

	mu      sync.Mutex
	lines   []line // elements are immutable, because followers keep them
	base    int64  // number of the first element
	size    int    // memory that the lines take
	ended   bool   // no more lines come
	all     bool   // the log was read to its end
	cursors map[*cursor]bool
	changed chan struct{} // closed and replaced when lines arrive or the log ends
	taken   chan struct{} // signals that a follower has advanced
}

// A cursor is the position of a follower in a hub.
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

// notify wakes all waiting followers. The caller holds the lock.
func (h *hub) notify() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// publish adds lines to the hub.
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

// evict drops the older half of the lines after all followers have taken them, or after
// hubWait. Lines with equal times are dropped together, so that equal lines can be counted.
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

// needed reports whether a follower has not yet taken all lines before a number.
func (h *hub) needed(before int64) bool {
	for c := range h.cursors {
		if c.next < before {
			return true
		}
	}
	return false
}

// join waits until the hub has read up to the position of a follower, and returns a cursor
// after this position. join returns nil if the hub does not hold the next line, or has
// ended without it. A follower without a position may request the log from a time on.
func (h *hub) join(ctx context.Context, p *logpos.Cursor, from *time.Time) *cursor {
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

// find returns the number of the line after a position, or -1 if the hub does not hold this
// line. behind means that the hub has not read up to the position yet.
func (h *hub) find(p *logpos.Cursor, from *time.Time) (next int64, behind bool) {
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

// covers reports whether the hub has, or will have, all lines from a time on.
func (h *hub) covers(from time.Time) bool {
	if h.base == 0 && !h.since.After(from) {
		return true
	}
	return len(h.lines) > 0 && h.lines[0].at.Before(from.Add(-hubMargin))
}

// A batch is the result of next.
type batch struct {
	lines    []line          // next lines
	more     <-chan struct{} // without lines: closed when the hub changes
	over     bool            // no more lines come
	whole    bool            // the log was read to its end
	isTooOld bool            // the hub no longer holds the next line, so the follower is detached
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

// detach removes the cursor of join.
func (h *hub) detach(c *cursor) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.cursors, c)
	h.advanced()
}

func (h *hub) advanced() {
	select {
	case h.taken <- struct{}{}:
	default: // an earlier signal is still pending
	}
}

// hubs contains the hubs of the pods that are followed on this server.
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

// enter returns the hub of a pod. If the pod has no hub, enter creates one that reads from the
// second since on, or from the beginning. The caller must call leave.
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

// leave ends the hub when its last user leaves.
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
