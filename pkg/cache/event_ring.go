package cache

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

// A ring holds the last events that this pod knows of, in order: those of its
// fold, which every pod comes to in the same order, and between them progress
// that only the informers saw. Every event has a running number in the ring,
// which is a reader's cursor.
type ring struct {
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

// reset empties the ring. The fold goes on behind the entry seq, the last event
// up to which had the place last.
func (r *ring) reset(seq uint64, last task.EventID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = r.endIndex() + 1 // no cursor of before is one of now
	r.chunks, r.weight, r.seq = nil, 0, seq
	r.after = last
	r.notifyReaders()
}

// add appends the events of an entry, or what was seen after it.
func (r *ring) add(seq uint64, events ...task.Event) {
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

func (r *ring) put(e task.Event) {
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
func (r *ring) drop() {
	oldest := r.chunks[0]
	r.chunks = slices.Delete(r.chunks, 0, 1)
	r.first += chunkSize
	r.weight -= oldest.weight
	if oldest.last != (task.EventID{}) {
		r.after = oldest.last
	}
}

func weight(e task.Event) int { return 1 + len(e.Nodes)/8 }

func (r *ring) notifyReaders() {
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// endIndex returns the running number behind the last event.
func (r *ring) endIndex() uint64 {
	n := len(r.chunks)
	if n == 0 {
		return r.first
	}
	return r.first + uint64((n-1)*chunkSize+len(r.chunks[n-1].events)) //nolint:gosec // both are positive
}

// at returns the event of a running number, which the ring has to have.
func (r *ring) at(number uint64) task.Event { return r.from(number, 1)[0] }

// from returns up to limit events from a running number on, which the ring has
// to have.
func (r *ring) from(number uint64, limit int) []task.Event {
	i := number - r.first
	events := r.chunks[i/chunkSize].events[i%chunkSize:]
	return slices.Clip(events[:min(limit, len(events))])
}
