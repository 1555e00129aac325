// Package eventring holds the most recent events in memory.
package eventring

import (
	"slices"
	"sync"

	"k8s-cli/pkg/task"
)

// ringSize is the number of events that a pod holds, where an event of many nodes counts more
// than once: about 20 MB. A reader that is slower than the events arrive must begin again.
const ringSize = 1 << 16

// chunkSize is the number of events that are dropped together.
const chunkSize = 1 << 10

// A Ring holds the most recent events of this pod in order: the events of its fold, which are
// the same on every pod, and between them progress events that only the informers saw. Each
// event has a running number in the ring, which is the cursor of a reader. A Ring is safe for
// concurrent use.
type Ring struct{ Reader }

// A Reader reads a ring.
type Reader struct {
	mu     sync.Mutex
	chunks []ringChunk  // oldest first; all chunks but the last are full
	first  uint64       // running number of the first event
	after  task.EventID // the ring holds every event of the log after this id
	seq    uint64       // sequence of the last folded entry
	weight int
	more   chan struct{} // closed at the next change; nil if no reader waits
}

// A ringChunk holds consecutive events. An event in a chunk never changes.
type ringChunk struct {
	events []task.Event
	weight int
	last   task.EventID // id of the last event in the chunk that has an id; zero if none has
}

// New returns an empty ring, before the first entry of the log.
func New() *Ring {
	r := &Ring{}
	r.Reset(0, task.EventID{})
	return r
}

// Reset empties the ring. The fold continues after the entry seq; last is the id of the last
// event up to that entry.
func (r *Ring) Reset(seq uint64, last task.EventID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = r.endIndex() + 1 // no earlier cursor stays valid
	r.chunks, r.weight, r.seq = nil, 0, seq
	r.after = last
	r.notifyReaders()
}

// Add appends the events of an entry, or progress events that were seen after the entry.
func (r *Ring) Add(seq uint64, events ...task.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq = max(r.seq, seq)
	for _, e := range events {
		r.put(e)
	}
	for len(r.chunks) > 1 && r.weight-r.chunks[0].weight >= ringSize {
		r.drop()
	}
	r.notifyReaders()
}

// EventsAfter returns the cursor of the first event after an event id. If the ring does not
// hold all events after that id, ok is false, and cursor is the cursor of the first event in
// the ring.
func (r *Reader) EventsAfter(after task.EventID) (cursor uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if after.Compare(r.after) < 0 {
		return r.first, false
	}
	// Find the last event that is not after the id. An event without an id cannot be compared
	// and belongs to the event before it.
	for cursor = r.endIndex(); cursor > r.first; cursor-- {
		if e := r.at(cursor - 1); e.ID != (task.EventID{}) && e.ID.Compare(after) <= 0 {
			return cursor, true
		}
	}
	return r.first, true
}

// EventsNow returns the cursor after the last event, and an event id after all events so far.
func (r *Reader) EventsNow() (cursor uint64, at task.EventID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endIndex(), task.EventID{Seq: r.seq + 1}
}

// Events returns up to limit events from a cursor on, and the cursor after them. Without events,
// seq is the last folded entry, and more is closed when further events may exist. ok is false if
// the ring no longer holds the events at the cursor, because newer events displaced them or the log
// was read anew.
func (r *Reader) Events(cursor uint64, limit int) (events []task.Event, next, seq uint64, more <-chan struct{}, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if cursor < r.first || cursor > r.endIndex() {
		return nil, 0, 0, nil, false
	}
	if cursor < r.endIndex() {
		events = r.from(cursor, limit)
		return events, cursor + uint64(len(events)), r.seq, nil, true
	}
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return nil, cursor, r.seq, r.more, true
}

func (r *Ring) put(e task.Event) {
	if n := len(r.chunks); n == 0 || len(r.chunks[n-1].events) == chunkSize {
		r.chunks = append(r.chunks, ringChunk{events: make([]task.Event, 0, chunkSize)})
	}
	last := &r.chunks[len(r.chunks)-1]
	last.events = append(last.events, e)
	last.weight += weight(e)
	r.weight += weight(e)
	if e.ID != (task.EventID{}) {
		last.last = e.ID
	}
}

// drop removes the oldest chunk.
func (r *Ring) drop() {
	oldest := r.chunks[0]
	r.chunks = slices.Delete(r.chunks, 0, 1)
	r.first += chunkSize
	r.weight -= oldest.weight
	if oldest.last != (task.EventID{}) {
		r.after = oldest.last
	}
}

func weight(e task.Event) int { return 1 + len(e.Nodes)/8 }

func (r *Ring) notifyReaders() {
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// endIndex returns the running number after the last event.
func (r *Reader) endIndex() uint64 {
	n := len(r.chunks)
	if n == 0 {
		return r.first
	}
	return r.first + uint64((n-1)*chunkSize+len(r.chunks[n-1].events)) //nolint:gosec // both are positive
}

// at returns the event of a running number that the ring contains.
func (r *Reader) at(number uint64) task.Event { return r.from(number, 1)[0] }

// from returns up to limit events from a running number on; the ring must contain that number.
func (r *Reader) from(number uint64, limit int) []task.Event {
	i := number - r.first
	events := r.chunks[i/chunkSize].events[i%chunkSize:]
	return slices.Clip(events[:min(limit, len(events))])
}
