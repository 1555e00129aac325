package status

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// A scenario is a log whose events are in a store, and an EventStore of the published events.
type scenario struct {
	*testLog

	events *Events

	stored  []task.Event // events in the EventStore
	expired int          // number of events before them
	err     error
	asked   int
}

func newScenario(t *testing.T) *scenario {
	s := &scenario{testLog: newTestLog(t)}
	s.events = NewEvents(s, s.store)
	return s
}

func (s *scenario) StoredEvents(_ context.Context, q task.EventQuery, limit int) (p task.StoredEvents, err error) {
	s.asked++
	p.Complete = s.expired == 0 || len(s.stored) > 0 && s.stored[0].ID.Compare(q.After) <= 0
	for _, e := range s.stored {
		if p.End = e.ID; e.ID.Compare(q.After) > 0 && q.Wants(e) {
			p.Events = append(p.Events, e)
		}
	}
	if p.More = len(p.Events) > limit; p.More {
		p.Events = p.Events[:limit]
	}
	return p, s.err
}

// publish puts all events that the store holds into the EventStore.
func (s *scenario) publish() {
	events, _, _, _, _ := s.store.Events(s.first(), 1<<20)
	s.stored = append(s.stored, events...)
}

func (s *scenario) first() uint64 {
	cursor, _ := s.store.EventsAfter(task.EventID{})
	return cursor
}

// start replaces the pod with a pod that started from a snapshot of its own state.
func (s *scenario) start() {
	s.t.Helper()
	s.fold(task.Command{SnapshotMarker: &task.SnapshotMarker{}})
	snapshot, ok := s.store.Snapshot()
	if !ok {
		s.t.Fatal("no snapshot")
	}
	var b strings.Builder
	must.Succeed(s.t, snapshot.Encode(&b))
	must.Succeed(s.t, s.store.Restore(strings.NewReader(b.String())))
}

func (s *scenario) list(q task.EventQuery, limit int) string {
	s.t.Helper()
	a, err := s.events.List(s.t.Context(), s.read(), q, limit)
	if err != nil {
		return err.Error()
	}
	var l task.EventList
	must.Succeed(s.t, json.Unmarshal(a.Body, &l))
	return line(l.Events) + a.Next
}

func line(events []task.Event) (text string) {
	for _, e := range events {
		text += fmt.Sprintf("%s %s %s; ", e.ID, e.Key().ID, e.Status)
	}
	return text
}

func TestListsOfEvents(t *testing.T) {
	for _, tt := range []struct {
		name  string
		setup func(*scenario)
		asks  bool // the EventStore is read
	}{
		{"from memory", func(*scenario) {}, false},
		{"half of it is stored", func(s *scenario) { s.publish(); s.start() }, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScenario(t)
			s.submit("ann", "a") // 2
			s.submit("bob", "b") // 3
			s.submit("ann", "c") // 4
			tt.setup(s)
			for s.seq < 5 {
				s.fold()
			}
			s.stop("ann", "a") // 6
			for _, ask := range []struct {
				q     task.EventQuery
				limit int
				want  string
			}{
				{task.EventQuery{User: "ann"}, 9, "2.1 a pending; 4.1 c pending; 6.1 a stopped; "},
				{task.EventQuery{User: "ann"}, 2, "2.1 a pending; 4.1 c pending; 4.1"},
				{task.EventQuery{User: "ann", After: task.EventID{Seq: 2, N: 1}}, 9, "4.1 c pending; 6.1 a stopped; "},
				{task.EventQuery{User: "ann", Key: task.Key{Kind: task.KindTask, ID: "a"}}, 9, "2.1 a pending; 6.1 a stopped; "},
				{task.EventQuery{User: "bob", Key: task.Key{Kind: task.KindTask, ID: "a"}}, 9, ""},
				{task.EventQuery{User: "bob", AllUsers: true, Key: task.Key{Kind: task.KindTask, ID: "a"}}, 9, ""},
				{task.EventQuery{User: "bob", AllUsers: true, After: task.EventID{Seq: 3}}, 9, "3.1 b pending; 4.1 c pending; 6.1 a stopped; "},
				{task.EventQuery{User: "ann", After: task.EventID{Seq: 99, N: 1}}, 9, "event 99.1 is not in this log, which was replaced; restart without last_event_id"},
			} {
				if got := s.list(ask.q, ask.limit); got != ask.want {
					t.Errorf("%+v, at most %d: %s, want %s", ask.q, ask.limit, got, ask.want)
				}
			}
			if tt.asks != (s.asked > 0) {
				t.Errorf("what is stored was asked for %d times", s.asked)
			}
		})
	}
}

func TestEventsThatAreNotStored(t *testing.T) {
	s := newScenario(t)
	for i := range 4 {
		s.submit("ann", fmt.Sprint("t", i))
	}
	s.publish()
	s.stored, s.expired = s.stored[2:], 2
	s.start()
	for after, want := range map[task.EventID]string{
		{}:              "4.1 t2 pending; 5.1 t3 pending; ", // all events
		{Seq: 2, N: 1}:  "events after 2.1 have expired; restart without last_event_id",
		{Seq: 4, N: 1}:  "5.1 t3 pending; ",
		{Seq: 5, N: 1}:  "",
		{Seq: 3, N: 99}: "events after 3.99 have expired; restart without last_event_id",
	} {
		if got := s.list(task.EventQuery{User: "ann", After: after}, 9); got != want {
			t.Errorf("behind %s: %s, want %s", after, got, want)
		}
	}
	s.err = problem.New(problem.Unavailable, "NATS is away")
	if got := s.list(task.EventQuery{User: "ann"}, 9); got != "NATS is away" {
		t.Errorf("without NATS: %s", got)
	}
	if got := s.list(task.EventQuery{User: "ann", After: task.EventID{Seq: 5, N: 1}}, 9); got != "" {
		t.Errorf("without NATS, from memory: %s", got)
	}
}

// A leader crashed before it published events that another pod knows only from a snapshot.
// These events are not left out.
func TestEventsAheadOfThisPod(t *testing.T) {
	s := newScenario(t)
	s.submit("ann", "a")
	s.publish()
	s.submit("ann", "b")
	s.start()
	if got := s.list(task.EventQuery{User: "ann"}, 9); got != "recent events are still being published; try again" {
		t.Errorf("got %s", got)
	}
}

// hears reads from a subscription until it has received n events.
func hears(t *testing.T, l task.Subscription, n int) string {
	t.Helper()
	var all []task.Event
	for len(all) < n {
		events, err := l.Next(t.Context())
		if err != nil {
			t.Fatalf("after %s: %v", line(all), err)
		}
		all = append(all, events...)
	}
	return line(all)
}

func TestSubscription(t *testing.T) {
	s := newScenario(t)
	s.submit("ann", "a")
	listen := func(q task.EventQuery) task.Subscription {
		l, err := s.events.Subscribe(s.read(), q)
		must.Succeed(t, err)
		return l
	}
	all, now, one := listen(task.EventQuery{User: "ann"}), listen(task.EventQuery{User: "ann", Now: true}), listen(task.EventQuery{User: "ann", Key: task.Key{Kind: task.KindTask, ID: "b"}})
	if got := now.At().String(); got != "3.0" {
		t.Errorf("now is at %s", got)
	}
	s.submit("ann", "b")
	s.submit("bob", "c")
	s.stop("ann", "a")
	s.stop("ann", "b")
	for _, tt := range []struct {
		name string
		l    task.Subscription
		want string
	}{
		{"all", all, "2.1 a pending; 3.1 b pending; 5.1 a stopped; 6.1 b stopped; "},
		{"from now on", now, "3.1 b pending; 5.1 a stopped; 6.1 b stopped; "},
		{"one", one, "3.1 b pending; 6.1 b stopped; "},
		{"resumed", listen(task.EventQuery{User: "ann", After: task.EventID{Seq: 3, N: 1}}), "5.1 a stopped; 6.1 b stopped; "},
	} {
		if got := hears(t, tt.l, strings.Count(tt.want, ";")); got != tt.want {
			t.Errorf("%s: heard %s, want %s", tt.name, got, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if events, err := one.Next(ctx); !errors.Is(err, context.Canceled) || len(events) > 0 {
		t.Errorf("after ctx ended: %v, %v", events, err)
	}
}

// Wherever a subscription is cut off, a new one continues with exactly the next events, both
// on a pod that holds all events and on a pod that started from a snapshot.
func TestSubscribersResume(t *testing.T) {
	s := newScenario(t)
	for i := range 2 * eventBatch {
		s.submit([]string{"ann", "bob"}[i%2], fmt.Sprint(i))
	}
	whole := s.list(task.EventQuery{User: "ann"}, 9999)
	s.publish()
	s.start()
	for i := range 50 {
		s.submit("ann", fmt.Sprint("late", i))
		s.submit("bob", fmt.Sprint("theirs", i))
	}
	want := s.list(task.EventQuery{User: "ann"}, 9999)
	if !strings.HasPrefix(want, whole) || strings.Count(want, ";") != eventBatch+50 {
		t.Fatalf("%d events", strings.Count(want, ";"))
	}
	places := strings.SplitAfter(want, "; ")
	for _, cut := range []int{0, 1, 17, eventBatch - 1, eventBatch, eventBatch + 3, eventBatch + 49} {
		after := task.EventID{}
		if cut > 0 {
			id, _, _ := strings.Cut(places[cut-1], " ")
			after, _ = task.ParseEventID(id)
		}
		l, err := s.events.Subscribe(s.read(), task.EventQuery{User: "ann", After: after})
		must.Succeed(t, err)
		if diff := cmp.Diff(strings.Join(places[cut:], ""), hears(t, l, eventBatch+50-cut)); diff != "" {
			t.Errorf("cut off behind event %d (-want +heard):\n%s", cut, diff)
		}
	}
}

// A subscriber whose next events the pod no longer holds gets an error.
func TestSlowListenerGetsAnError(t *testing.T) {
	s := newScenario(t)
	l, err := s.events.Subscribe(s.read(), task.EventQuery{User: "ann"})
	must.Succeed(t, err)
	s.start()
	if events, err := l.Next(t.Context()); !errors.Is(err, problem.Gone) {
		t.Errorf("%d events, %v", len(events), err)
	}
}

// A pod that does not know an event, and does not know the end of the log, does not answer
// that there is no such event.
func TestEventAheadOfThisPod(t *testing.T) {
	s := newScenario(t)
	s.submit("ann", "a")
	q := task.EventQuery{User: "ann", After: task.EventID{Seq: 99, N: 1}}
	if _, err := s.events.Subscribe(s.read(), q); !errors.Is(err, problem.Gone) {
		t.Errorf("at the end of the log: %v", err)
	}
	s.lost = true
	if _, err := s.events.Subscribe(s.read(), q); !errors.Is(err, problem.Unavailable) {
		t.Errorf("listening somewhere before it: %v", err)
	}
	if _, err := s.events.List(t.Context(), s.read(), q, 9); !errors.Is(err, problem.Unavailable) {
		t.Errorf("a list somewhere before it: %v", err)
	}
}
