package cache

import (
	"io"
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// EventsAfter returns the cursor of the first event behind a place. If this pod
// does not know all that are behind it, ok is false and the cursor that of the
// first one that it knows.
func (p *Store) EventsAfter(after task.EventID) (cursor uint64, ok bool) {
	r := &p.events
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
func (p *Store) EventsNow() (cursor uint64, at task.EventID) {
	r := &p.events
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.endIndex(), task.EventID{Seq: r.seq + 1}
}

// Events returns up to limit events from a cursor on, and the cursor behind
// them. If there are none, seq is the last entry that was folded, and more is
// closed when there may be some. ok is false if the events at the cursor are
// forgotten, because there were too many since or the log was read anew.
func (p *Store) Events(cursor uint64, limit int) (events []task.Event, next, seq uint64, more <-chan struct{}, ok bool) {
	r := &p.events
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

// progress tells that a task waits for another reason than before, if the log
// does not.
func (p *Store) progress(i *taskItem, v task.View) {
	record := v.Record
	if record == nil || record.Phase.Over() {
		return
	}
	why, before := v.Explain(v.NodeList()), ""
	if i.extra != nil {
		before = i.extra.reason
	}
	if why.Reason == before {
		return
	}
	if i.ensureExtra().reason = why.Reason; why.Reason == "" || why.Reason == record.Reason {
		return
	}
	e := task.EventOfTask(record, task.EventProgress)
	e.Time, e.Reason, e.Message = time.Now().UTC(), why.Reason, why.Message
	p.events.add(0, e)
}

// A Replayer folds a part of the log again, for the events in it.
type Replayer struct{ state *state.State }

// NewReplayer returns one that begins with the log's first entry.
func NewReplayer() *Replayer { return &Replayer{state.New()} }

// Restore makes it begin behind a snapshot.
func (p *Replayer) Restore(snapshot io.Reader) error {
	s, err := state.Decode(snapshot)
	if err == nil {
		p.state = s
	}
	return err
}

// Fold applies one entry and returns its events.
func (p *Replayer) Fold(e task.Entry) []task.Event { return p.state.Fold(e).Events }
