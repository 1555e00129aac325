package events

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

const (
	readEvents    = "$JS.API.DIRECT.GET." + subject.EventStream // the body of the request selects the event
	readLastEvent = readEvents + ".>"                           // followed by the subject whose last event is requested
)

// told returns an embedded server whose leader has published these events of the same three
// tasks, and an unauthenticated connection to that server.
func told(t *testing.T) (p *pod, other *nats.Conn, refusals chan error, want []string) {
	t.Helper()
	own, other, refusals := subscriber(t)
	p = newPod(t, own, queue.Config{SingleWriter: true})
	listener := listen(t, other)
	p.publishes(t)
	for _, id := range natstest.Names("t", 3) {
		p.put(t, id)
	}
	p.do(t, stopOf("t1"))
	want = shorts(p.made(t))
	listener.receives(t, want)
	return p, other, refusals, want
}

// ask sends a request and returns the responses before the response that marks the end.
func ask(t *testing.T, nc *nats.Conn, subject, body string) (all []string, status string) {
	t.Helper()
	ctx := natstest.Context(t)
	inbox, err := nc.SubscribeSync(nc.NewInbox())
	if err == nil {
		err = nc.PublishRequest(subject, inbox.Subject, []byte(body))
	}
	for err == nil {
		var m *nats.Msg
		if m, err = inbox.NextMsgWithContext(ctx); err != nil {
			break
		}
		if status := m.Header.Get("Status"); status != "" {
			return all, status
		}
		all = append(all, received(t, m.Header.Get("Nats-Subject"), m.Data, m.Header.Get(idHeader)))
		if subject != readEvents {
			return all, ""
		}
	}
	t.Fatalf("%s %s: %v", subject, body, err)
	return nil, ""
}

func TestSubscribersReplayEvents(t *testing.T) {
	t.Parallel()
	_, other, _, want := told(t)
	for _, tt := range []struct {
		name, subject, body string
		want                []string
		status              string
	}{
		{"all", readEvents, `{"seq":1,"batch":100}`, want, "204"},
		{"from one on", readEvents, `{"seq":3,"batch":100}`, want[2:], "204"},
		{"of one task", readEvents, `{"seq":1,"batch":100,"next_by_subj":"event.task.ann.t1"}`, []string{want[1], want[3]}, "204"},
		{"of one user", readEvents, `{"seq":1,"batch":2,"next_by_subj":"event.*.ann.>"}`, want[:2], "204"},
		{"none left", readEvents, `{"seq":5,"batch":100}`, nil, "404"},
		{"the last of one task", readLastEvent[:len(readLastEvent)-1] + "event.task.ann.t1", "", want[3:], ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, status := ask(t, other, tt.subject, tt.body)
			if diff := cmp.Diff(tt.want, got); diff != "" || status != tt.status {
				t.Errorf("status %s; events (-want +got):\n%s", status, diff)
			}
		})
	}
}

func TestSubscribersAskForNothingElse(t *testing.T) {
	t.Parallel()
	p, other, refusals, _ := told(t)
	before := p.lastEntry(t)
	for _, subject := range []string{
		"$JS.API.INFO", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.LOG",
		"$JS.API.STREAM.MSG.GET.LOG", "$JS.API.DIRECT.GET.LOG", "$JS.API.DIRECT.GET.LOG.log",
		"$JS.API.STREAM.MSG.GET.OBJ_SNAPSHOTS", "$JS.API.DIRECT.GET.OBJ_SNAPSHOTS", "$JS.API.DIRECT.GET.OBJ_SNAPSHOTS.$O.SNAPSHOTS.M.x",
		"$JS.API.CONSUMER.CREATE.LOG", "$JS.API.CONSUMER.CREATE.EVENTS", "$JS.API.STREAM.PURGE.EVENTS", "$JS.API.STREAM.DELETE.EVENTS",
		"$JS.API.STREAM.PURGE.LOG", "$JS.API.STREAM.DELETE.LOG", subject.Log, "event.task.owner.one", "told.task.ann.t1", "$SYS.REQ.SERVER.PING",
	} {
		must.Succeed(t, errors.Join(other.PublishRequest(subject, "event.answer", []byte(`{"seq":1}`)), other.Flush()))
		wantRefusal(t, refusals, "Publish to", subject)
	}
	p.put(t, "last")
	if at := p.lastEntry(t); at != before+1 {
		t.Errorf("the log grew by %d entries", at-before)
	}
}

// The sender of a request chooses the subject of the reply, and NATS does not check the
// sender's permission for that subject. Therefore no subject that a subscriber can name may
// have an effect on the log.
func TestAnswersToSubscribersReachNothingOfOurs(t *testing.T) {
	t.Parallel()
	p, other, _, want := told(t)
	for _, reply := range []string{subject.Log, "told.task.ann.t1", "event.task.ann.t1", "$JS.API.STREAM.PURGE.LOG", "$JS.API.STREAM.DELETE.EVENTS"} {
		for _, body := range []string{`{"seq":1}`, `{"seq":1,"batch":100}`, `{"seq":99}`, `}`} {
			must.Succeed(t, other.PublishRequest(readEvents, reply, []byte(body)))
		}
	}
	if got, _ := ask(t, other, readEvents, `{"seq":1,"batch":100}`); !cmp.Equal(want, got) { // the replies to the earlier requests have arrived by now
		t.Errorf("the stream holds %q", got)
	}
	before := p.lastEntry(t)
	listener := listen(t, p.nats)
	p.do(t, stopOf("t2"))
	listener.receives(t, shorts(p.made(t))[len(want):])
	if at := p.lastEntry(t); at != before+1 {
		t.Errorf("the log grew by %d entries", at-before)
	}
	wantStored(t, p.nats, shorts(p.made(t)))
}

// A subscriber to all inboxes receives at most the replies to other subscribers, never the
// replies to readers of the log.
func TestSubscribersDoNotHearOurAnswers(t *testing.T) {
	t.Parallel()
	p, other, _, _ := told(t)
	inboxes, err := other.SubscribeSync(subject.Inboxes)
	must.Succeed(t, err)
	listener := listen(t, other) // on the same connection, so that earlier messages arrive earlier
	p.do(t, stopOf("t2"))
	p.storedEvents(t, task.EventQuery{User: "ann"}, 10)
	p.do(t, stopOf("t0"))
	listener.receives(t, shorts(p.made(t))[4:])
	if n, _, err := inboxes.Pending(); n != 0 || err != nil {
		t.Errorf("%d messages, %v", n, err)
	}
}

// subscriber connects to an embedded server like any client that reaches its port.
func subscriber(t *testing.T) (own, other *nats.Conn, refusals chan error) {
	t.Helper()
	e := natstest.Start(t, natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0"})
	other, refusals = natstest.Subscribe(t, e)
	return natstest.Connect(t, e), other, refusals
}

func TestSubscribersHearEventsOnly(t *testing.T) {
	t.Parallel()
	own, other, refusals := subscriber(t)
	log := newPod(t, own, queue.Config{SingleWriter: true})
	for _, subject := range []string{">", "log", "told.>", "$JS.>", "$O.>", "$SYS.>"} {
		_, err := other.SubscribeSync(subject)
		must.Succeed(t, errors.Join(err, other.Flush()))
		wantRefusal(t, refusals, "Subscription to", subject)
	}
	heard, err := other.SubscribeSync(subject.Events)
	must.Succeed(t, err)
	must.Succeed(t, other.Flush())
	log.put(t, "one")
	must.Succeed(t, own.Publish("event.task.owner.one", []byte("running")))
	ctx := natstest.Context(t)
	if m, err := heard.NextMsgWithContext(ctx); err != nil || m.Subject != "event.task.owner.one" {
		t.Errorf("heard %+v, %v", m, err)
	}
}
