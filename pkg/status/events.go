package status

import (
	"context"
	"fmt"
	"hash/maphash"
	"math"
	"slices"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// An EventStore stores events for longer than a pod holds them in memory.
type EventStore interface {
	StoredEvents(ctx context.Context, q task.EventQuery, limit int) (task.StoredEvents, error)
}

// Events answers queries for events: recent events from the memory of this pod, and older ones
// from the EventStore.
type Events struct {
	stored EventStore
	recent *cache.Store
	boot   maphash.Seed // seed of the ETags, as in Viewer
}

// NewEvents returns Events that reads from recent and from stored.
func NewEvents(stored EventStore, recent *cache.Store) *Events {
	return &Events{stored: stored, recent: recent, boot: maphash.MakeSeed()}
}

const eventBatch = 500 // events that are read at once

// List answers with up to limit events, oldest first. Answer.Next is the id of the last event
// if there are more. The error is of kind problem.Gone if some of the requested events have
// expired.
func (e *Events) List(ctx context.Context, r Read, q task.EventQuery, limit int) (task.Answer, error) {
	stale := r.Stale
	if r.Current { // events do not depend on what the API server answers
		stale = ""
	}
	all, err := e.read(ctx, q, limit+1, r.Current)
	if err != nil {
		return task.Answer{Stale: stale}, err
	}
	next := ""
	if len(all) > limit {
		all = all[:limit]
		next = all[limit-1].ID.String()
	}
	a := tagged(e.boot, encode(task.EventList{Events: all}), stale)
	a.Next = next
	return a, nil
}

// Last returns the last event of one object or the zero Event.
func (e *Events) Last(ctx context.Context, r Read, q task.EventQuery) (task.Event, error) {
	q.After, q.Now = task.EventID{}, false
	all, err := e.read(ctx, q, math.MaxInt, r.Current)
	if err != nil || len(all) == 0 {
		return task.Event{}, err
	}
	return all[len(all)-1], nil
}

// read returns the present events, at most limit.
func (e *Events) read(ctx context.Context, q task.EventQuery, limit int, current bool) ([]task.Event, error) {
	all := []task.Event{}
	l, err := e.listen(q, current)
	if err != nil {
		return nil, err
	}
	for len(all) < limit {
		events, err := l.some(ctx)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			if e.ID != (task.EventID{}) {
				all = append(all, e)
			}
		}
		if l.more != nil {
			break
		}
	}
	return all[:min(len(all), limit)], nil
}

// Subscribe returns a subscription that begins no later than the present events. The error is of
// kind problem.Gone if events between q.After and now have expired, and problem.Unavailable if
// this pod has not folded the log up to q.After and cannot know whether the event exists.
func (e *Events) Subscribe(r Read, q task.EventQuery) (task.Subscription, error) {
	return e.listen(q, r.Current)
}

// listen returns a subscription; current says that this pod has passed a read barrier.
func (e *Events) listen(q task.EventQuery, current bool) (*Subscription, error) {
	now, at := e.recent.EventsNow()
	l := &Subscription{events: e, query: q, cursor: now, now: now, at: at}
	if q.Now {
		return l, nil
	}
	if q.After.Compare(at) > 0 && !current {
		return nil, problem.New(problem.Unavailable, fmt.Sprintf("this server does not know event %s yet, and cannot reach the log at present; try again, or use another server", q.After))
	}
	if q.After.Compare(at) > 0 {
		return nil, problem.New(problem.EventsExpired, fmt.Sprintf("event %s is not in this log, which was replaced; restart without last_event_id", q.After))
	}
	known := false
	l.cursor, known = e.recent.EventsAfter(q.After)
	l.at, l.stored = q.After, !known
	return l, nil
}

// A Subscription delivers events in order and without end. Only one goroutine may use a
// Subscription. A Subscription buffers nothing: a reader that is slower than the memory of the
// pod reaches back must begin again.
type Subscription struct {
	events *Events
	query  task.EventQuery
	cursor uint64       // of the next event in memory
	now    uint64       // progress events before this cursor are not delivered
	at     task.EventID // all events up to this id were delivered or did not match
	stored bool         // the next events are in the EventStore
	more   <-chan struct{}
}

// At returns the event id from which another subscription would continue.
func (s *Subscription) At() task.EventID { return s.at }

// Next waits for events. The error is of kind problem.Gone if the reader was too slow, and
// problem.Unavailable if stored events cannot be read at present. In either case a new
// subscription that continues from At misses nothing, unless it fails.
func (s *Subscription) Next(ctx context.Context) ([]task.Event, error) {
	for ctx.Err() == nil {
		events, err := s.some(ctx)
		if err != nil || len(events) > 0 {
			return events, err
		}
		if s.more == nil {
			continue
		}
		select {
		case <-s.more:
		case <-ctx.Done():
		}
	}
	return nil, ctx.Err()
}

// some returns the next events of the query, possibly none. If more is nil afterwards, some must be
// called again at once.
func (s *Subscription) some(ctx context.Context) ([]task.Event, error) {
	events, err := s.ofAllGroups(ctx)
	if s.query.Group != "" {
		events = slices.DeleteFunc(events, func(e task.Event) bool { return e.Group != s.query.Group })
	}
	return events, err
}

// ofAllGroups is some without regard to the group of the query. A store that selected the events
// of a group could not say how far it has read.
func (s *Subscription) ofAllGroups(ctx context.Context) ([]task.Event, error) {
	if s.stored {
		return s.replay(ctx)
	}
	events, next, seq, more, ok := s.events.recent.Events(s.cursor, eventBatch)
	if !ok {
		return nil, problem.New(problem.Gone, "events were read too slowly; reconnect after the last event")
	}
	var wanted []task.Event
	for i, e := range events {
		placed := e.ID != task.EventID{}
		if placed && e.ID.Compare(s.at) <= 0 || !placed && s.cursor+uint64(i) < s.now {
			continue
		}
		if placed {
			s.at = e.ID
		}
		if s.query.Wants(e) {
			wanted = append(wanted, e)
		}
	}
	s.cursor, s.more = next, more
	if end := (task.EventID{Seq: seq + 1}); more != nil && end.Compare(s.at) > 0 {
		s.at = end
	}
	return wanted, nil
}

// replay reads from the EventStore and switches to memory where the events in memory begin.
func (s *Subscription) replay(ctx context.Context) ([]task.Event, error) {
	q := s.query
	q.After = s.at
	cursor, _ := s.events.recent.EventsAfter(q.After) // read before the store, so that no event is missed between the two
	p, err := s.events.stored.StoredEvents(ctx, q, eventBatch)
	switch {
	case err != nil:
		return nil, err
	case !p.Complete && s.at != task.EventID{}:
		return nil, problem.New(problem.EventsExpired, fmt.Sprintf("events after %s have expired; restart without last_event_id", s.at))
	case p.More && len(p.Events) > 0:
		s.at = p.Events[len(p.Events)-1].ID
		return p.Events, nil
	}
	if p.End != (task.EventID{}) {
		if _, known := s.events.recent.EventsAfter(p.End); !known {
			return nil, problem.New(problem.Unavailable, "recent events are still being published; try again")
		}
	}
	if p.End.Compare(s.at) > 0 {
		s.at = p.End
	}
	s.cursor, s.stored = cursor, false
	return p.Events, nil
}
