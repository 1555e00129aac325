package cache

import (
	"io"
	"slices"
	"sync"
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// ringSize is how many events a pod keeps in memory, those of many nodes
// counting for more: some 20 MB. Who reads them slower than they come has to
// begin again.
const ringSize = 1 << 16

// A ring holds the last events that this pod knows of, in order: those of its
// fold, which every pod comes to in the same order, and between them progress
// that only the informers saw. Every event has a running number in the ring,
// which is a reader's cursor.
type ring struct {
	mu     sync.Mutex
	events []task.Event
	first  uint64     // running number of the first of them
	after  task.Place // what is behind this place, and of the log, is in it
	seq    uint64     // of the last entry folded
	weight int
	more   chan struct{} // closed at the next change; nil if nobody waits
}

// begin empties the ring. The fold goes on behind the entry seq, the last event
// up to which had the place last.
func (r *ring) begin(seq uint64, last task.Place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first += uint64(len(r.events)) + 1 // no cursor of before is one of now
	r.events, r.weight, r.seq = nil, 0, seq
	r.after = last
	r.tell()
}

// add appends the events of an entry, or what was seen after it.
func (r *ring) add(seq uint64, events ...task.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq = max(r.seq, seq)
	for _, e := range events {
		r.events = append(r.events, e)
		r.weight += weight(e)
	}
	if r.weight > ringSize+ringSize/4 {
		r.drop()
	}
	r.tell()
}

// drop forgets the oldest events until ringSize is left.
func (r *ring) drop() {
	n := 0
	for ; r.weight > ringSize; n++ {
		e := r.events[n]
		r.weight -= weight(e)
		if e.Place != (task.Place{}) {
			r.after = e.Place
		}
	}
	r.first += uint64(n)
	r.events = slices.Clone(r.events[n:])
}

func weight(e task.Event) int { return 1 + len(e.Nodes)/8 }

func (r *ring) tell() {
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
}

// EventsAfter returns the cursor of the first event behind a place. If this pod
// does not know all that are behind it, ok is false and the cursor that of the
// first one that it knows.
func (p *Picture) EventsAfter(after task.Place) (cursor uint64, ok bool) {
	r := &p.events
	r.mu.Lock()
	defer r.mu.Unlock()
	if after.Compare(r.after) < 0 {
		return r.first, false
	}
	// The last event that is not behind it: those without a place have none to
	// compare, and belong to the one before them.
	for i, e := range slices.Backward(r.events) {
		if e.Place != (task.Place{}) && e.Place.Compare(after) <= 0 {
			return r.first + uint64(i) + 1, true //nolint:gosec // an index
		}
	}
	return r.first, true
}

// EventsNow returns the cursor behind the last event, and where it is in the
// order of all events.
func (p *Picture) EventsNow() (cursor uint64, at task.Place) {
	r := &p.events
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first + uint64(len(r.events)), task.Place{Seq: r.seq + 1}
}

// Events returns up to limit events from a cursor on, and the cursor behind
// them. If there are none, seq is the last entry that was folded, and more is
// closed when there may be some. ok is false if the events at the cursor are
// forgotten, because there were too many since or the log was read anew.
func (p *Picture) Events(cursor uint64, limit int) (events []task.Event, next, seq uint64, more <-chan struct{}, ok bool) {
	r := &p.events
	r.mu.Lock()
	defer r.mu.Unlock()
	end := r.first + uint64(len(r.events))
	if cursor < r.first || cursor > end {
		return nil, 0, 0, nil, false
	}
	if cursor < end {
		events = r.events[cursor-r.first : min(cursor+uint64(limit), end)-r.first] //nolint:gosec // a limit is positive
		return slices.Clip(events), cursor + uint64(len(events)), r.seq, nil, true
	}
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return nil, cursor, r.seq, r.more, true
}

// progress tells that a task waits for another reason than before, if the log
// does not.
func (p *Picture) progress(i *taskItem) {
	record := i.view.Record
	if record == nil || record.Phase.Over() {
		return
	}
	why := i.view.Why(i.view.NodeList())
	if why.Reason == i.reason {
		return
	}
	if i.reason = why.Reason; why.Reason == "" || why.Reason == record.Reason {
		return
	}
	e := task.EventOfTask(record, task.EventProgress)
	e.Time, e.Reason, e.Message = time.Now().UTC(), why.Reason, why.Message
	p.events.add(0, e)
}

// A Past folds a part of the log again, for the events in it.
type Past struct{ state *state.State }

// NewPast returns one that begins with the log's first entry.
func NewPast() *Past { return &Past{state.New()} }

// Restore makes it begin behind a snapshot.
func (p *Past) Restore(snapshot io.Reader) error {
	s, err := state.Decode(snapshot)
	if err == nil {
		p.state = s
	}
	return err
}

// Fold applies one entry and returns its events.
func (p *Past) Fold(e task.Entry) []task.Event { return p.state.Fold(e).Events }
