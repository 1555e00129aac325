package events

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A pod follows the log into a store of its own.
type pod struct {
	*queue.Log
	events *Stream
	nats   *natsconn.Conn
	store  *cache.Store
	stop   func() error // stops Run and returns its error
}

// newPod starts a pod, which stops when the test ends or when stop is called.
func newPod(t *testing.T, nc *natsconn.Conn, c queue.Config) *pod {
	t.Helper()
	c.AppendTimeout = natstest.Timeout
	var log *queue.Log
	natstest.Patiently(t, func() (err error) {
		log, err = queue.Open(t.Context(), nc, c)
		return err
	})
	events, err := New(nc, log, Config{Embedded: c.Store != nil})
	must.Succeed(t, err)
	p := &pod{Log: log, events: events, nats: nc, store: cache.New()}
	p.stop = must.Run(t, func(ctx context.Context) error { return log.Run(ctx, p.store) })
	p.waitReadIndex(t)
	return p
}

// storedEvents reads stored events.
func (p *pod) storedEvents(t *testing.T, q task.EventQuery, limit int) (got task.StoredEvents) {
	t.Helper()
	natstest.Patiently(t, func() (err error) {
		got, err = p.events.StoredEvents(t.Context(), q, limit)
		return err
	})
	return got
}

// waitReadIndex waits until the pod has applied the end of the log, even through an outage.
func (p *pod) waitReadIndex(t *testing.T) {
	t.Helper()
	natstest.Eventually(t, "the end of the log", func() bool {
		_, ok := p.WaitReadIndex(t.Context())
		return ok
	})
}

// entries returns the stream of the log and its state.
func (p *pod) entries(t *testing.T) (jetstream.Stream, jetstream.StreamState) {
	t.Helper()
	stream := natstest.Stream(t, p.nats, subject.LogStream)
	return stream, stream.CachedInfo().State
}

// lastEntry returns the position of the last entry of the log, which the pod has applied.
func (p *pod) lastEntry(t *testing.T) uint64 {
	t.Helper()
	p.waitReadIndex(t)
	_, now := p.entries(t)
	return now.LastSeq
}

// firstEntry returns the position of the first entry of the log.
func (p *pod) firstEntry(t *testing.T) uint64 {
	t.Helper()
	_, now := p.entries(t)
	return now.FirstSeq
}

// put appends a submission.
func (p *pod) put(t *testing.T, id string) {
	t.Helper()
	p.do(t, natstest.Submission(id))
}

// noSubmissions retains no submission.
func noSubmissions(_, _ uint64) map[uint64]bool { return nil }

// publishes publishes the events of the pod until stop is called or the test ends.
func (p *pod) publishes(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- p.events.Publisher(p.store, func() Replayer { return cache.NewReplayer() }).Run(ctx)
	}()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run ended with %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// made returns all events that the pod has produced from the log.
func (p *pod) made(t *testing.T) (all []task.Event) {
	t.Helper()
	p.waitReadIndex(t)
	cursor, ok := p.store.EventsAfter(task.EventID{})
	if !ok {
		t.Fatal("the pod does not remember the first event")
	}
	for {
		events, next, _, _, ok := p.store.Events(cursor, 100)
		if !ok {
			t.Fatal("the pod forgets")
		}
		if len(events) == 0 {
			return all
		}
		all, cursor = append(all, events...), next
	}
}

func (p *pod) do(t *testing.T, c task.Command) {
	t.Helper()
	if _, err := p.Append(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// snapshot stores a snapshot, as the leader does.
func (p *pod) snapshot(t *testing.T) {
	t.Helper()
	p.do(t, task.Command{SnapshotMarker: &task.SnapshotMarker{}})
	s, ok := p.store.Snapshot()
	if !ok {
		t.Fatal("no snapshot was taken")
	}
	natstest.Patiently(t, func() error { return p.StoreSnapshot(t.Context(), s) })
	p.do(t, task.Command{SnapshotStored: &task.SnapshotStored{Seq: s.Seq(), Hash: s.Hash()}})
	natstest.Patiently(t, func() error {
		_, err := p.Compact(t.Context(), s.Log(), noSubmissions)
		return err
	})
}

func short(e task.Event, subject string) string {
	return fmt.Sprint(e.ID, " ", subject, " ", e.Status)
}

func shorts(events []task.Event) (all []string) {
	for _, e := range events {
		all = append(all, short(e, subject.OfEvent(e)))
	}
	return all
}

// An eventListener receives what core NATS subscribers receive.
type eventListener struct{ *nats.Subscription }

func listen(t *testing.T, nc *nats.Conn) eventListener {
	t.Helper()
	s, err := nc.SubscribeSync(subject.Events)
	must.Succeed(t, err)
	must.Succeed(t, nc.Flush())
	return eventListener{s}
}

// receives waits for exactly these events, in this order.
func (e eventListener) receives(t *testing.T, want []string) {
	t.Helper()
	ctx := natstest.Context(t)
	for i, text := range want {
		m, err := e.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatalf("after %d of %d events: %v", i, len(want), err)
		}
		if got := received(t, m.Subject, m.Data, m.Header.Get(idHeader)); got != text {
			t.Fatalf("event %d is %q, want %q", i, got, text)
		}
	}
}

func received(t *testing.T, subject string, data []byte, id string) string {
	t.Helper()
	var e task.Event
	if err := json.Unmarshal(data, &e); err != nil || id != e.ID.String() {
		t.Fatalf("an event with header %q: %s, %v", id, data, err)
	}
	return short(e, subject)
}

// replayed returns the result of a replay of the stream.
func replayed(t *testing.T, nc *nats.Conn) (all []string) {
	t.Helper()
	stream := natstest.Stream(t, nc, subject.EventStream)
	for seq := range stream.CachedInfo().State.LastSeq {
		m, err := stream.GetMsg(natstest.Context(t), seq+1)
		must.Succeed(t, err)
		all = append(all, received(t, m.Subject, m.Data, m.Header.Get(idHeader)))
	}
	return all
}

func wantStored(t *testing.T, nc *nats.Conn, want []string) {
	t.Helper()
	if diff := cmp.Diff(want, replayed(t, nc)); diff != "" {
		t.Errorf("stored events (-want +got):\n%s", diff)
	}
}

func stopOf(id string) task.Command { return task.Command{Stop: &task.Stop{User: "ann", ID: id}} }

func TestEventsAreReceivedAndStoredOnceInOrder(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	nc := natstest.Connect(t, server)
	p := newPod(t, nc, queue.Config{SingleWriter: true, Store: server})
	listener := listen(t, natstest.Connect(t, server))
	p.publishes(t)
	tasks := natstest.Names("t", natstest.Rounds(300))
	for _, id := range tasks {
		p.put(t, id)
	}
	for _, id := range tasks {
		p.do(t, stopOf(id))
	}
	p.do(t, task.Command{Create: &task.Create{ID: "v.1", User: "a@b c", Volume: task.Volume{Name: "data"}}})
	want := shorts(p.made(t))
	listener.receives(t, want)
	wantStored(t, nc, want)
	if last := want[len(want)-1]; !strings.Contains(last, " event.volume.a=40b=20c.v=2E1 Pending") || len(want) != 2*len(tasks)+1 {
		t.Errorf("%d events, the last is %s", len(want), last)
	}
}

// Two leaders at once, one of which may have been paused, neither repeat nor reorder events.
func TestTwoLeadersAtOncePublishEachEventOnce(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	pods := []*pod{newPod(t, remote.Dial(t), queue.Config{}), newPod(t, remote.Dial(t), queue.Config{})}
	listener := listen(t, remote.Dial(t))
	var writers sync.WaitGroup
	each := natstest.Rounds(300)
	for i, p := range pods {
		p.publishes(t)
		writers.Go(func() {
			for _, id := range natstest.Names(fmt.Sprint("t", i, "-"), each) {
				if _, err := p.Append(t.Context(), natstest.Submission(id)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	want := shorts(pods[0].made(t))
	if diff := cmp.Diff(want, shorts(pods[1].made(t))); diff != "" || len(want) != 2*each {
		t.Fatalf("%d events; two pods made (-one +other):\n%s", len(want), diff)
	}
	listener.receives(t, want)
	wantStored(t, remote.Dial(t), want)
}

// A late pod has folded a part of the log, and signals when all events of that part were read.
type late struct {
	*cache.Store
	seen chan uint64 // cursors without an event
}

func (l late) Events(cursor uint64, limit int) (events []task.Event, next, seq uint64, more <-chan struct{}, ok bool) {
	events, next, seq, more, ok = l.Store.Events(cursor, limit)
	if ok && len(events) == 0 {
		l.seen <- cursor
	}
	return events, next, seq, more, ok
}

// A paused leader continues after its successor has published events that the paused leader
// does not know yet. When the paused leader folds these entries, it publishes none of their
// events again.
func TestALateLeaderRepeatsNothing(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	p := newPod(t, remote.Dial(t), queue.Config{})
	listener := listen(t, remote.Dial(t))
	stop := p.publishes(t)
	for _, id := range natstest.Names("told", 5) {
		p.put(t, id)
	}
	listener.receives(t, shorts(p.made(t)))
	stop()
	p.put(t, "new")

	entries := entriesOf(t, p)
	behind := late{cache.New(), make(chan uint64)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.events.Publisher(behind, func() Replayer { return cache.NewReplayer() }).Run(ctx) }()
	for _, e := range entries {
		<-behind.seen
		if _, err := behind.Fold(e); err != nil {
			t.Fatal(err)
		}
	}
	listener.receives(t, shorts(p.made(t))[5:])
	cancel()
	for err := error(nil); !errors.Is(err, context.Canceled); {
		select {
		case <-behind.seen:
		case err = <-ended:
		}
	}
	wantStored(t, remote.Dial(t), shorts(p.made(t)))
}

// An early pod has events that are a year older than the clock of this process says.
type early struct{ *cache.Store }

func (e early) Events(cursor uint64, limit int) (events []task.Event, next, seq uint64, more <-chan struct{}, ok bool) {
	events, next, seq, more, ok = e.Store.Events(cursor, limit)
	events = slices.Clone(events)
	for i := range events {
		events[i].Time = events[i].Time.AddDate(-1, 0, 0)
	}
	return events, next, seq, more, ok
}

// The clock of the leader does not decide which events are too old to be stored.
func TestALeaderWithAWrongClockStoresEvents(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	p := newPod(t, remote.Dial(t), queue.Config{})
	listener := listen(t, remote.Dial(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- p.events.Publisher(early{p.store}, func() Replayer { return cache.NewReplayer() }).Run(ctx)
	}()
	p.put(t, "a")
	listener.receives(t, shorts(p.made(t)))
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	wantStored(t, remote.Dial(t), shorts(p.made(t)))
}

// entriesOf returns all entries of the log.
func entriesOf(t *testing.T, p *pod) (all []task.Entry) {
	t.Helper()
	log, now := p.entries(t)
	for seq := now.FirstSeq; seq <= now.LastSeq; seq++ {
		m, err := log.GetMsg(natstest.Context(t), seq)
		must.Succeed(t, err)
		e, err := task.DecodeEntry(m.Data)
		must.Succeed(t, err)
		e.Seq, e.Time = seq, m.Time
		all = append(all, e)
	}
	return all
}

func TestNextLeaderPublishesMissedEvents(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	first, second := newPod(t, remote.Dial(t), queue.Config{}), newPod(t, remote.Dial(t), queue.Config{})
	listener := listen(t, remote.Dial(t))
	stop := first.publishes(t)
	first.put(t, "one")
	listener.receives(t, shorts(first.made(t)))
	stop()
	first.put(t, "two")
	second.put(t, "three")
	all := shorts(first.made(t))
	second.publishes(t)
	second.put(t, "four")
	listener.receives(t, append(all[1:], shorts(second.made(t))[3:]...))
	wantStored(t, remote.Dial(t), shorts(second.made(t)))
}

// A pod that starts from a snapshot does not hold the events before the snapshot. Events among
// them that nobody has published are produced again, and the log is not compacted before.
func TestEventsFromBeforeASnapshotAreMadeAgain(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	witness := newPod(t, remote.Dial(t), queue.Config{})
	listener := listen(t, remote.Dial(t))
	stop := witness.publishes(t)
	witness.put(t, "told")
	listener.receives(t, shorts(witness.made(t)))
	stop()
	for i := range 4 {
		witness.put(t, fmt.Sprint("missed", i))
		witness.snapshot(t)
	}
	if at := witness.firstEntry(t); at != 1 {
		t.Fatalf("the log was cut to entry %d, and its events are not told", at)
	}
	late := newPod(t, remote.Dial(t), queue.Config{})
	if _, ok := late.store.EventsAfter(task.EventID{}); ok {
		t.Fatal("the pod did not start from a snapshot")
	}
	stop = late.publishes(t)
	late.put(t, "last")
	want := shorts(witness.made(t))
	listener.receives(t, want[1:])
	if len(want) != 6 {
		t.Errorf("%d events: %v", len(want), want)
	}
	wantStored(t, remote.Dial(t), want)

	late.waitReadIndex(t)
	late.snapshot(t)
	late.put(t, "after the cut")
	listener.receives(t, shorts(witness.made(t))[6:])
	late.snapshot(t)
	if at := late.firstEntry(t); at == 1 {
		t.Error("the log was not cut, though all events are told")
	}
	stop()
	late.put(t, "missed again")
	third := newPod(t, remote.Dial(t), queue.Config{})
	third.publishes(t)
	listener.receives(t, shorts(witness.made(t))[7:])
	wantStored(t, remote.Dial(t), shorts(witness.made(t)))
}

func TestEventsSurviveAnOutage(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	p := newPod(t, remote.Dial(t), queue.Config{})
	p.publishes(t)
	for round := range 3 {
		for _, id := range natstest.Names(fmt.Sprint("r", round, "-"), 50) {
			p.put(t, id)
		}
		remote.Down() // while events are in flight
		remote.Up(t)
		p.waitReadIndex(t)
	}
	listener := listen(t, remote.Dial(t))
	p.put(t, "last")
	want := shorts(p.made(t))
	for { // events from before the outage come first
		m, err := listener.NextMsg(natstest.Timeout)
		must.Succeed(t, err)
		if received(t, m.Subject, m.Data, m.Header.Get(idHeader)) == want[len(want)-1] {
			break
		}
	}
	wantStored(t, remote.Dial(t), want)
}

// If someone removed entries with unpublished events, the loss is logged once, and the
// remaining events are published.
func TestEventsThatCannotBeMadeAgain(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	p := newPod(t, remote.Dial(t), queue.Config{})
	stop := p.publishes(t)
	listener := listen(t, remote.Dial(t))
	p.put(t, "told")
	listener.receives(t, shorts(p.made(t)))
	stop()
	p.put(t, "lost")
	p.put(t, "cut off")
	last := p.lastEntry(t)
	if err := p.stop(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	log, _ := p.entries(t)
	must.Succeed(t, log.Purge(natstest.Context(t), jetstream.WithPurgeSequence(last)))
	var said bytes.Buffer
	late := newPod(t, remote.Dial(t), queue.Config{AcceptLogLoss: true, Logger: slog.New(slog.NewTextHandler(&said, nil))})
	stop = late.publishes(t)
	late.put(t, "kept")
	listener.receives(t, shorts(late.made(t)))
	stop()
	if n := strings.Count(said.String(), "starting without the missing entries"); n != 1 {
		t.Errorf("it was said %d times:\n%s", n, said.String())
	}
}

func TestPastEventsAreReadBySubject(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	p := newPod(t, remote.Dial(t), queue.Config{})
	if past := p.storedEvents(t, task.EventQuery{User: "ann"}, 10); len(past.Events) > 0 || !past.Complete {
		t.Errorf("before any was published: %+v", past)
	}
	listener := listen(t, remote.Dial(t))
	p.publishes(t)
	for _, user := range []string{"ann", "a.b", "ann", "*", "ann"} {
		c := natstest.Submission(fmt.Sprint("t", len(p.made(t))))
		c.Submit.User = user
		p.do(t, c)
	}
	p.do(t, stopOf("t2"))
	all := p.made(t)
	listener.receives(t, shorts(all))
	for _, tt := range []struct {
		name  string
		q     task.EventQuery
		limit int
		want  []int
	}{
		{"all of a user", task.EventQuery{User: "ann"}, 10, []int{0, 2, 4, 5}},
		{"at most so many", task.EventQuery{User: "ann"}, 2, []int{0, 2}},
		{"behind a place", task.EventQuery{User: "ann", After: all[0].ID}, 10, []int{2, 4, 5}},
		{"of one task", task.EventQuery{User: "ann", Key: task.Key{Kind: task.KindTask, ID: "t2"}}, 10, []int{2, 5}},
		{"of one task of another user", task.EventQuery{User: "bob", Key: task.Key{Kind: task.KindTask, ID: "t2"}}, 10, nil},
		{"a name with a dot", task.EventQuery{User: "a.b"}, 10, []int{1}},
		{"a name that is a wildcard", task.EventQuery{User: "*"}, 10, []int{3}},
		{"all users", task.EventQuery{User: "*", AllUsers: true, After: all[3].ID}, 10, []int{4, 5}},
		{"behind all", task.EventQuery{User: "ann", After: all[5].ID}, 10, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []task.Event
			for _, i := range tt.want {
				want = append(want, all[i])
			}
			got := p.storedEvents(t, tt.q, tt.limit)
			if diff := cmp.Diff(want, got.Events); diff != "" || !got.Complete {
				t.Errorf("whole: %v; events (-want +got):\n%s", got.Complete, diff)
			}
			if got.More != (tt.limit < 10) || got.End != all[5].ID {
				t.Errorf("more: %v, the end is %s", got.More, got.End)
			}
		})
	}
	stream, err := p.events.js.Stream(natstest.Context(t), subject.EventStream)
	must.Succeed(t, err)
	must.Succeed(t, stream.Purge(natstest.Context(t), jetstream.WithPurgeSequence(4)))
	for i, want := range []bool{false, false, false, true, true} {
		got := p.storedEvents(t, task.EventQuery{AllUsers: true, After: all[i].ID}, 10)
		if got.Complete != want || len(got.Events) != min(3, 5-i) {
			t.Errorf("read after event %d, with the first three events deleted: complete %v, %d events", i, got.Complete, len(got.Events))
		}
	}
}
