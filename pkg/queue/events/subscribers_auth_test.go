package events

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"k8s-cli/pkg/queue"
	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// knownTokens are the tokens that the server of these tests accepts.
type knownTokens struct{}

func (knownTokens) Identify(_ context.Context, token string) (task.Identity, error) {
	switch token {
	case "anns":
		return task.Identity{User: "ann"}, nil
	case "bobs":
		return task.Identity{User: "bob"}, nil
	case "roots":
		return task.Identity{User: "root", Admin: true}, nil
	}
	return task.Identity{}, problem.New(problem.Unauthorized, "it is unknown")
}

// guarded returns an embedded server that requires tokens, and a pod that publishes events of
// tasks of ann.
func guarded(t *testing.T) (e *natsserver.Server, p *pod) {
	t.Helper()
	e = natstest.Start(t, natsserver.Config{Dir: t.TempDir(), Listen: "127.0.0.1:0", Subscribers: knownTokens{}})
	p = newPod(t, natstest.Connect(t, e), queue.Config{SingleWriter: true})
	p.publishes(t)
	return e, p
}

// A user receives only the user's own events, and an administrator receives all events.
func TestSubscribersHearTheirOwn(t *testing.T) {
	t.Parallel()
	e, p := guarded(t)
	inbox := func(user string) nats.Option { return nats.CustomInboxPrefix("_INBOX." + user) }
	ann, annRefusals := natstest.Subscribe(t, e, nats.Token("anns"), inbox("ann"))
	root, _ := natstest.Subscribe(t, e, nats.UserInfo("whoever", "roots"))
	bob, refusals := natstest.Subscribe(t, e, nats.UserInfo("ann", "bobs"), inbox("bob"))
	own, err := ann.SubscribeSync("event.*.ann.>")
	must.Succeed(t, err)
	every := listen(t, root)
	must.Succeed(t, errors.Join(ann.Flush(), root.Flush()))
	p.put(t, "t1")
	want := shorts(p.made(t))
	every.receives(t, want)
	m, err := own.NextMsg(natstest.Timeout)
	must.Succeed(t, err)
	if diff := cmp.Diff(want[0], received(t, m.Subject, m.Data, m.Header.Get(idHeader))); diff != "" {
		t.Errorf("ann heard (-want +got):\n%s", diff)
	}
	last := readEvents + ".event.task.ann.t1"
	if got, _ := ask(t, root, last, ""); !cmp.Equal(got, want) {
		t.Errorf("the last event of ann's task: %v, want %v", got, want)
	}
	for _, subject := range []string{
		"event.>", "event.*.ann.>", "event.task.ann.t1", "event.task.*.t1", "event.*.*.>", "event.*.*.t1", "*.*.bob.*", ">", "*", "_INBOX.>", "_INBOX.ann.>", "_INBOX.bob.>", "_R_.>",
		"told.>", subject.OfIngest(task.Event{Kind: task.KindTask, User: "bob", TaskID: "x"}), subject.Log, "$JS.>", "$JS.EVENT.ADVISORY.>", "$SYS.>", "$KV.>", "$O.>",
	} {
		sub, err := bob.SubscribeSync(subject)
		if err == nil {
			err = bob.Flush()
		}
		must.Succeed(t, err)
		wantRefusal(t, refusals, "Subscription to", subject)
		_ = sub.Unsubscribe()
	}
	for _, subject := range append(jetStream(),
		readEvents, last, readEvents+".event.task.bob.x", readEvents+".event.task.*.t1", readEvents+".event.>",
		subject.Log, "told.task.bob.x", "event.task.bob.x", "event.task.ann.x", "_INBOX.ann.x", "_R_.x", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO",
	) {
		must.Succeed(t, errors.Join(bob.PublishRequest(subject, "event.task.ann.forged", []byte(`{"seq":1,"batch":9}`)), bob.Flush()))
		wantRefusal(t, refusals, "Publish to", subject)
	}
	must.Succeed(t, errors.Join(ann.PublishRequest(last, "event.task.ann.forged", nil), ann.Flush()))
	wantRefusal(t, annRefusals, "Publish to", last)
	p.put(t, "t2")
	p.made(t)
	if m, err := own.NextMsg(natstest.Timeout); err != nil || m.Subject != "event.task.ann.t2" {
		t.Errorf("after all this ann heard %+v, %v", m, err)
	}
}

// jetStream returns the subjects of requests to JetStream, for each stream of the server.
func jetStream() (subjects []string) {
	subjects = []string{server.JSApiAccountInfo, server.JSApiStreams, server.JSApiStreamList, server.JSApiLeaderStepDown, server.JSApiRemoveServer}
	for _, stream := range []string{subject.LogStream, subject.EventStream, "OBJ_LOGS", "OBJ_SUBMISSIONS"} {
		for _, of := range []string{
			server.JSApiStreamCreateT, server.JSApiStreamUpdateT, server.JSApiStreamInfoT, server.JSApiStreamDeleteT, server.JSApiStreamPurgeT, server.JSApiStreamSnapshotT,
			server.JSApiStreamRestoreT, server.JSApiMsgDeleteT, server.JSApiMsgGetT, server.JSDirectMsgGetT, server.JSApiConsumerCreateT, server.JSApiConsumersT, server.JSApiConsumerListT,
			server.JSApiStreamLeaderStepDownT, server.JSApiAccountPurgeT,
		} {
			subjects = append(subjects, fmt.Sprintf(of, stream))
		}
		for _, of := range []string{
			server.JSApiDurableCreateT, server.JSApiConsumerInfoT, server.JSApiConsumerDeleteT, server.JSApiConsumerPauseT, server.JSApiRequestNextT, server.JSApiConsumerLeaderStepDownT,
			server.JSDirectGetLastBySubjectT, "$JS.ACK.%s.%s.1.1.1.1.1", "$JS.FC.%s.%s.x",
		} {
			subjects = append(subjects, fmt.Sprintf(of, stream, "x"))
		}
		subjects = append(subjects, fmt.Sprintf(server.JSApiConsumerCreateExT, stream, "x", "event.task.ann.>"), fmt.Sprintf(server.JSApiConsumerCreateExT, stream, "x", subject.Log))
	}
	return subjects
}

func wantRefusal(t *testing.T, refusals chan error, what, subject string) {
	t.Helper()
	select {
	case err := <-refusals:
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), subject) {
			t.Errorf("%s %q: %v", what, subject, err)
		}
	case <-time.After(natstest.Timeout):
		t.Errorf("%s %q was not refused", what, subject)
	}
}
