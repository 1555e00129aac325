package features

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// messages returns the messages of a stream of JetStream, in order.
func messages(t *testing.T, nc *nats.Conn, name string) (all []*jetstream.RawStreamMsg) {
	t.Helper()
	js, err := jetstream.New(nc)
	must.Succeed(t, err)
	stream, err := js.Stream(t.Context(), name)
	must.Succeed(t, err)
	now := stream.CachedInfo().State
	for seq := now.FirstSeq; seq <= now.LastSeq; seq++ {
		m, err := stream.GetMsg(t.Context(), seq)
		must.Succeed(t, err)
		all = append(all, m)
	}
	return all
}

// projection returns the events that follow from the log, as JSON.
func projection(t *testing.T, nc *nats.Conn) (all []string) {
	t.Helper()
	s := state.New()
	for _, m := range messages(t, nc, "LOG") {
		var e task.Entry
		must.Succeed(t, json.Unmarshal(m.Data, &e))
		e.Seq, e.Time = m.Sequence, m.Time
		for _, event := range s.Fold(e).Events {
			raw, err := task.Marshal(event)
			must.Succeed(t, err)
			all = append(all, string(raw))
		}
	}
	return all
}

// connect subscribes to all events, as any client may.
func connect(t *testing.T, address string) (*nats.Conn, *nats.Subscription) {
	t.Helper()
	nc, err := nats.Connect(address)
	must.Succeed(t, err)
	t.Cleanup(nc.Close)
	events, err := nc.SubscribeSync("event.>")
	if err == nil {
		err = events.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = nc.Flush()
	}
	must.Succeed(t, err)
	return nc, events
}

// heard returns the next n events with an event id.
func heard(t *testing.T, events *nats.Subscription, n int) (all []string) {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	for len(all) < n {
		m, err := events.NextMsgWithContext(ctx)
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(all), n, err)
		}
		if m.Header.Get("Event-Id") != "" {
			all = append(all, string(m.Data))
		}
	}
	return all
}

// listed returns the events in an answer of the server.
func listed(t *testing.T, u *user, path string) (all []string) {
	t.Helper()
	answer := u.get(t, u.name, path)
	for _, raw := range decode[struct{ Events []json.RawMessage }](t, answer).Events {
		all = append(all, string(raw))
	}
	return all
}

// Whichever server leads and whichever is killed, every phase change is exactly one event,
// in the order of the log: for a live listener, for a replay and for HTTP requests. A
// listener can continue at another pod.
func TestEachPhaseChangeIsOneEventThoughLeadersDie(t *testing.T) {
	t.Parallel()
	address := external(t)
	nc, live := connect(t, address)
	a := start(t, "--nats-url", address)
	servers := []*server{a, a.again(t), a.again(t)}
	const name, rounds, each = "ann@example.com", 2, 4

	var ids, streamed []string
	after := "0"
	for round := range rounds {
		leader, others := leads(t, servers...)
		ann := others[0].as(t, name)
		stream, err := ann.Subscribe(t.Context(), client.EventSource{After: after})
		must.Succeed(t, err)
		for i := range each {
			ids = append(ids, ann.submit(t, "run: echo done"), ann.submit(t, idle))
			if i == each/2 {
				leader.process.Kill() // in the middle of its work
			}
			ann.stop(t, ids[len(ids)-1])
		}
		for _, id := range ids[len(ids)-2*each:] {
			ann.awaitWhere(t, id, "over", func(s task.Status) bool { return s.Phase.Over() })
		}
		over := 0
		for over < 2*each { // then the listener continues at another pod
			e, err := stream.Next()
			if err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if e.ID == (task.EventID{}) {
				continue
			}
			raw, _ := task.Marshal(e)
			streamed, after = append(streamed, string(raw)), e.ID.String()
			if e.Over() {
				over++
			}
		}
		stream.Close()
		servers = append(slices.DeleteFunc(servers, func(s *server) bool { return s == leader }), leader.again(t))
	}

	want := projection(t, nc)
	if diff := cmp.Diff(want, heard(t, live, len(want))); diff != "" {
		t.Errorf("events (-log +heard live):\n%s", diff)
	}
	var replayed []string
	for _, m := range messages(t, nc, "EVENTS") {
		replayed = append(replayed, string(m.Data))
	}
	if diff := cmp.Diff(want, replayed); diff != "" {
		t.Errorf("events (-log +replayed):\n%s", diff)
	}
	if diff := cmp.Diff(want, streamed); diff != "" {
		t.Errorf("events (-log +streamed, by pod after pod):\n%s", diff)
	}
	for _, s := range servers {
		if diff := cmp.Diff(want, listed(t, s.as(t, name), "/events")); diff != "" {
			t.Errorf("events (-log +listed):\n%s", diff)
		}
	}
	ends := map[string]int{}
	for _, raw := range want {
		var e task.Event
		must.Succeed(t, json.Unmarshal([]byte(raw), &e))
		if e.Over() {
			ends[e.TaskID]++
		}
	}
	for _, id := range ids {
		if ends[id] != 1 {
			t.Errorf("task %s has %d last events", id, ends[id])
		}
	}
	if len(ends) != len(ids) {
		t.Errorf("%d tasks have ended, there are %d", len(ends), len(ids))
	}
}

// statuses returns the events in short form.
func statuses(events []task.Event) (all []string) {
	for _, e := range events {
		text := e.Status
		if e.Type == task.EventProgress {
			text += " " + e.Reason
		}
		all = append(all, text)
	}
	return all
}

func TestEventsOfAVolume(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "ann")
	id := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.awaitBound(t, id)
	lost := ann.create(t, task.Volume{Name: "lost", Size: "1Gi"})
	ann.awaitBound(t, lost)
	source := func(id string) client.EventSource {
		return client.EventSource{Key: task.Key{Kind: task.KindVolume, ID: id}}
	}
	awaits := func(ann *user, id string, want ...string) {
		t.Helper()
		eventually(t, "the events of volume "+id, func() (string, bool) {
			events, err := ann.Events(t.Context(), source(id))
			return fmt.Sprint(statuses(events), err), slices.Equal(statuses(events), want)
		})
	}
	awaits(ann, id, "Pending", "Pending Applied", "Bound")
	awaits(ann, lost, "Pending", "Pending Applied", "Bound")
	ann.deleteVolume(t, id)
	awaits(ann, id, "Pending", "Pending Applied", "Bound", "Deleted")

	// A claim that is deleted while no server runs makes the volume lost, also for the next
	// server.
	s.process.terminate(t)
	name := task.ClaimName("lost", lost)
	must.Succeed(t, s.CoreV1().PersistentVolumeClaims(s.namespace).Delete(t.Context(), name, metav1.DeleteOptions{}))
	s.awaitNoClaim(t, name)
	ann = s.again(t).as(t, "ann")
	awaits(ann, lost, "Pending", "Pending Applied", "Bound", "Lost")
	if v := ann.volume(t, lost); v.Phase != task.VolumeLost {
		t.Errorf("the volume is %s", v.Phase)
	}
	awaits(ann, id, "Pending", "Pending Applied", "Bound", "Deleted")
	if got := ann.get(t, "bob", "/volumes/"+id+"/events"); got.code != 404 {
		t.Errorf("another user is answered with %d: %s", got.code, got.body)
	}
}

// Subscribers of the embedded NATS receive live events and replay them.
func TestSubscribersOfTheEmbeddedNATS(t *testing.T) {
	t.Parallel()
	need(t)
	address := testkit.ClosedPort(t)
	c := join(t)
	s := c.serve(t, "--nats-listen", address, "--data-dir", t.TempDir())
	nc, live := connect(t, "nats://"+address)
	ann := s.as(t, "ann@example.com")
	id := ann.submit(t, idle)
	ann.stop(t, id)
	want := heard(t, live, 2)

	// The command of docs/events.md, as nats.go sends it.
	replay, err := nc.SubscribeSync(nc.NewInbox())
	if err == nil {
		err = nc.PublishRequest("$JS.API.DIRECT.GET.EVENTS", replay.Subject, []byte(`{"seq":1,"batch":1000,"next_by_subj":"event.task.ann=40example=2Ecom.>"}`))
	}
	var got []string
	for err == nil {
		var m *nats.Msg
		if m, err = replay.NextMsg(patience); err != nil || m.Header.Get("Status") != "" {
			break
		}
		got = append(got, string(m.Data))
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v; events (-live +replayed):\n%s", err, diff)
	}
	if !strings.Contains(want[1], `"task_id":"`+id+`"`) || !strings.Contains(want[1], `"status":"stopped"`) {
		t.Errorf("heard %s", want[1])
	}
}
