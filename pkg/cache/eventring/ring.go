// Package eventring holds the last events that a pod knows of, in memory.
package eventring

import (
	"slices"
	"sync"

	"k8s-cli/pkg/task"
)

// ringSize is how many events a pod keeps in memory, those of many nodes
// counting for more: some 20 MB. Who reads them slower than they come has to
// begin again.
const ringSize = 1 << 16

// chunkSize is how many events are forgotten at once, at most.
const chunkSize = 1 << 10

// A Ring holds the last events that this pod knows of, in order: those of its
// fold, which every pod comes to in the same order, and between them progress
// that only the informers saw. Every event has a running number in the ring,
// which is a reader's cursor. It is safe for use by many goroutines.
type Ring struct{ Reader }

// A Reader reads a ring.
type Reader struct {
	mu     sync.Mutex
	chunks []ringChunk  // the oldest first; all but the last one are full
	first  uint64       // running number of the first event
	after  task.EventID // what is behind this place, and of the log, is in it
	seq    uint64       // of the last entry folded
	weight int
	more   chan struct{} // closed at the next change; nil if nobody waits
}

// A ringChunk is some events that come one after the other. What is in it stays as it is.
type ringChunk struct {
	events []task.Event
	weight int
	last   task.EventID // of the last one that has a place, if one has
}

// New returns an empty ring, before the first entry of the log.
func New() *Ring {
	r := &Ring{}
	r.Reset(0, task.EventID{})
	return r
}

// Reset empties the ring. The fold goes on behind the entry seq, the last event
// up to which had the place last.
func (r *Ring) Reset(seq uint64, last task.EventID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = r.endIndex() + 1 // no cursor of before is one of now
	r.chunks, r.weight, r.seq = nil, 0, seq
	r.after = last
	r.notifyReaders()
}

// Add appends the events of an entry, or what was seen after it.
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

// EventsAfter returns the cursor of the first event behind a place. If this pod
// does not know all that are behind it, ok is false and the cursor that of the
// first one that it knows.
func (r *Reader) EventsAfter(after task.EventID) (cursor uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if after.Compare(r.after) < 0 {
		return r.first, false
	}
	// The last event that is not behind it: those without a place have none to
	// compare, and belong to the one before them.
	for cursor = r.endIndex(); cursor > r.first; cursor-- {
		if e := r.at(cursor - 1); e.ID != (task.EventID{}) && e.ID.Compare(after) <= 0 {
			return cursor, true
		}
	}
	return r.first, true
}

// EventsNow returns the cursor behind the last event, and where it is in the
// order of all events.
func (r *Reader) EventsNow() (cursor uint64, at task.EventID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endIndex(), task.EventID{Seq: r.seq + 1}
}

// Events returns up to limit events from a cursor on, and the cursor behind
// them. If there are none, seq is the last entry that was folded, and more is
// closed when there may be some. ok is false if the events at the cursor are
// forgotten, because there were too many since or the log was read anew.
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

// drop forgets the oldest events.
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

// endIndex returns the running number behind the last event.
func (r *Reader) endIndex() uint64 {
	n := len(r.chunks)
	if n == 0 {
		return r.first
	}
	return r.first + uint64((n-1)*chunkSize+len(r.chunks[n-1].events)) //nolint:gosec // both are positive
}

// at returns the event of a running number, which the ring has to have.
func (r *Reader) at(number uint64) task.Event { return r.from(number, 1)[0] }

// from returns up to limit events from a running number on, which the ring has
// to have.
func (r *Reader) from(number uint64, limit int) []task.Event {
	i := number - r.first
	events := r.chunks[i/chunkSize].events[i%chunkSize:]
	return slices.Clip(events[:min(limit, len(events))])
}
