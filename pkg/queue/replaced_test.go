package queue

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// recreate deletes the log and creates it again, as an operator could.
func recreate(t *testing.T, log *running) {
	t.Helper()
	info, err := log.stream.Info(natstest.Context(t))
	must.Succeed(t, err)
	must.Succeed(t, log.js.DeleteStream(natstest.Context(t), subject.LogStream))
	ctx := natstest.Context(t)
	for { // NATS may still be removing the files of the former stream
		_, err := log.js.CreateStream(ctx, info.Config)
		if err == nil {
			return
		}
		if e, ok := errors.AsType[*jetstream.APIError](err); !ok || e.ErrorCode != storeNotCreated {
			t.Fatal(err)
		}
	}
}

const storeNotCreated jetstream.ErrorCode = 10049 // JSStreamStoreFailedF of NATS

func purge(t *testing.T, log *running) {
	t.Helper()
	must.Succeed(t, log.stream.Purge(natstest.Context(t)))
}

// The fold accepts the entries of a writer only from the first one on, so a writer needs a new
// id when the log is replaced.
func TestALogThatWasReplacedIsReadAnew(t *testing.T) {
	t.Parallel()
	folded := &fakeStateMachine{}
	log := follow(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), Config{}, folded)
	log.put(t, "old")
	log.waitReadIndex(t)
	recreate(t, log)
	_, _ = log.WaitReadIndex(t.Context()) // one read suffices to notice the replacement
	folded.await(t, "the state machine is reset", func() bool { return folded.timesReset() > 0 })
	must.Succeed(t, log.WaitCaughtUp(t.Context()))
	log.put(t, "new")
	entries := folded.stored()
	if last := entries[len(entries)-1]; last.Number != 1 {
		t.Errorf("the writer's first entry in the new log has number %d, which no fold will take", last.Number)
	}
	log.waitReadIndex(t)
	folded.wantSeen(t, "new")
}

// A running pod has the whole state of a purged log. The pod continues, and the leader stores
// a snapshot for pods that start later.
func TestAPurgeOfTheLogLosesNothing(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	folded := &fakeStateMachine{}
	log := follow(t, natstest.Connect(t, server), Config{}, folded)
	log.put(t, "old")
	log.waitReadIndex(t)
	purge(t, log)
	log.waitReadIndex(t)
	log.put(t, "new")
	natstest.Eventually(t, "a snapshot to be due", func() bool {
		log.waitReadIndex(t)
		return log.SnapshotDue()
	})
	s := folded.snapshot(t, log)
	natstest.Patiently(t, func() error { return log.StoreSnapshot(t.Context(), s) })
	late := &fakeStateMachine{}
	follow(t, natstest.Connect(t, server), Config{}, late).waitReadIndex(t)
	for _, m := range []*fakeStateMachine{folded, late} {
		if diff := cmp.Diff([]string{"old", "new"}, m.seen()); diff != "" || m.timesReset() > 0 {
			t.Errorf("after %d resets, commands (-want +got):\n%s", m.timesReset(), diff)
		}
	}
}

// Two pods, one of which started after a purge, follow the same log.
func TestAPodThatStartsAfterAPurgeSeesTheSameLog(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	first, second := &fakeStateMachine{}, &fakeStateMachine{}
	one := follow(t, natstest.Connect(t, server), Config{}, first)
	one.put(t, "old")
	one.waitReadIndex(t)
	purge(t, one)
	two := follow(t, natstest.Connect(t, server), Config{}, second)
	two.put(t, "new")
	one.waitReadIndex(t)
	if diff := cmp.Diff(second.seen(), first.seen()); diff != "" {
		t.Errorf("commands (-second pod +first pod):\n%s", diff)
	}
}

// A forgetfulMachine rejects the first entries with a command as entries of an unknown writer,
// as the fold does after it has removed the writer.
type forgetfulMachine struct {
	fakeStateMachine
	strays int
}

func (f *forgetfulMachine) Fold(e task.Entry) ([]task.Result, error) {
	if len(e.Commands) == 0 || f.strays == 0 {
		return f.fakeStateMachine.Fold(e)
	}
	f.strays--
	return slices.Repeat([]task.Result{{Rejection: task.RejectedUnknownWriter}}, len(e.Commands)), nil
}

func TestAWriterThatIsForgottenBeginsAnew(t *testing.T) {
	t.Parallel()
	folded := &forgetfulMachine{strays: 1}
	log := follow(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), Config{SingleWriter: true}, folded)
	if v, err := log.Append(t.Context(), natstest.Submission("one")); !errors.Is(err, problem.Unavailable) {
		t.Errorf("append by a writer that is forgotten: %+v, %v", v, err)
	}
	log.put(t, "two")
	entries := folded.stored()
	if last := entries[len(entries)-1]; last.Number != 1 {
		t.Errorf("its next entry has number %d, which no fold will take", last.Number)
	}
}

// A slowMachine folds nothing until it is released.
type slowMachine struct {
	*fakeStateMachine
	may chan struct{}
}

func (s slowMachine) Fold(e task.Entry) ([]task.Result, error) {
	<-s.may
	return s.fakeStateMachine.Fold(e)
}

// While the first entry of a compacted log is still being folded, a read barrier does not take
// the log for another log.
func TestALogThatWasCutIsReadOnce(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	before := follow(t, remote.Dial(t), Config{}, &fakeStateMachine{})
	before.put(t, "cut off")
	before.put(t, "left")
	if err := before.stop(); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	must.Succeed(t, before.stream.Purge(natstest.Context(t), jetstream.WithPurgeSequence(before.follower.applied())))
	machine := slowMachine{&fakeStateMachine{}, make(chan struct{})}
	late := follow(t, remote.Dial(t), Config{AcceptLogLoss: true}, machine)
	must.Succeed(t, late.follower.awaitIdentified(t.Context()))
	stood := late.follower.appliedPosition()
	info, err := late.info(natstest.Context(t))
	must.Succeed(t, err)
	if err := late.follower.restartIfReplaced(natstest.Context(t), info, stood); err != nil {
		t.Errorf("the log is taken for another one: %v", err)
	}
	close(machine.may)
	late.waitReadIndex(t)
	machine.wantSeen(t, "left")
}
