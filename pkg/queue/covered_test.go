package queue

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/test/testkit/must"
)

// cutLog returns a compacted log with two snapshots.
func cutLog(t *testing.T) (server *natsserver.Server, log *running, folded *fakeStateMachine) {
	t.Helper()
	server, folded = natstest.Embed(t, t.TempDir()), &fakeStateMachine{}
	log = follow(t, natstest.Connect(t, server), Config{}, folded)
	for _, id := range natstest.Names("task", 3) {
		log.put(t, id)
		storeSnapshot(t, log, folded)
	}
	if begins(t, log) == 1 {
		t.Fatal("the log was not cut")
	}
	return server, log, folded
}

// removeSnapshots removes all snapshots, as an operator could.
func removeSnapshots(t *testing.T, log *running) {
	t.Helper()
	stream, err := log.js.Stream(natstest.Context(t), "OBJ_"+streams.SnapshotBucket)
	if err == nil {
		err = stream.Purge(natstest.Context(t), jetstream.WithPurgeSubject("$O."+streams.SnapshotBucket+".>"))
	}
	must.Succeed(t, err)
}

// A pod that finds no snapshot of a compacted log does not take the remaining entries for the
// whole log. The pod starts as soon as a snapshot exists; a pod with the whole state stores
// one at once.
func TestAPodDoesNotStartWithoutASnapshot(t *testing.T) {
	t.Parallel()
	server, log, folded := cutLog(t)
	removeSnapshots(t, log)
	state := &fakeStateMachine{}
	late := follow(t, natstest.Connect(t, server), Config{}, state)
	natstest.Eventually(t, "the pod to say why it cannot start", func() bool { return errors.Is(late.StartErr(), errUncovered) })
	if late.IsCaughtUp() || len(state.seen()) > 0 {
		t.Errorf("it is ready with %v", state.seen())
	}
	s := folded.snapshot(t, log)
	natstest.Patiently(t, func() error { return log.StoreSnapshot(t.Context(), s) })
	late.waitReadIndex(t)
	if diff := cmp.Diff(folded.seen(), state.seen()); diff != "" || late.StartErr() != nil {
		t.Errorf("blocked by %v; commands (-want +got):\n%s", late.StartErr(), diff)
	}
}

func TestAPodThatAcceptsTheLossStartsWithoutASnapshot(t *testing.T) {
	t.Parallel()
	server, log, _ := cutLog(t)
	removeSnapshots(t, log)
	state := &fakeStateMachine{}
	late := follow(t, natstest.Connect(t, server), Config{AcceptLogLoss: true}, state)
	late.put(t, "after")
	state.wantSeen(t, "task1", "task2", "after")
	if !late.SnapshotDue() {
		t.Error("no snapshot is due of a log that none covers")
	}
}

// A running pod keeps its whole state, whatever is removed from the log and whichever
// snapshots it finds.
func TestARunningPodKeepsItsState(t *testing.T) {
	t.Parallel()
	_, log, folded := cutLog(t)
	removeSnapshots(t, log)
	log.put(t, "more")
	log.waitReadIndex(t)
	must.Succeed(t, log.stream.Purge(natstest.Context(t), jetstream.WithPurgeSequence(log.follower.applied())))
	log.waitReadIndex(t)
	log.put(t, "even more")
	if diff := cmp.Diff([]string{"task0", "task1", "task2", "more", "even more"}, folded.seen()); diff != "" || folded.timesReset() > 0 {
		t.Errorf("it dropped its state %d times; commands (-want +got):\n%s", folded.timesReset(), diff)
	}
	if !log.SnapshotDue() {
		t.Error("no snapshot is due of a log that none covers")
	}
}

// A leader that was paused while it removed old snapshots removes none of the snapshots that
// its successor stored.
func TestALeaderThatWasHeldUpRemovesNothingOfItsSuccessor(t *testing.T) {
	t.Parallel()
	server, first, folded := cutLog(t)
	head, err := first.identify(natstest.Context(t), appliedPosition{})
	must.Succeed(t, err)
	kept, err := first.usableSnapshots(natstest.Context(t), head.id, head.StreamState)
	if err != nil || len(kept) != retainedSnapshots {
		t.Fatalf("%d snapshots, %v", len(kept), err)
	}
	state := &fakeStateMachine{}
	second := follow(t, natstest.Connect(t, server), Config{}, state)
	for _, id := range natstest.Names("later", 3) {
		second.put(t, id)
		storeSnapshot(t, second, state)
	}
	err = first.pruneBefore(natstest.Context(t), kept) // the first leader continues with its old list
	if all, wrong := second.listSnapshots(natstest.Context(t), head.id); wrong != nil || len(all) != retainedSnapshots {
		t.Fatalf("after it went on (%v) there are %d snapshots, %v", err, len(all), wrong)
	}
	late := &fakeStateMachine{}
	follow(t, natstest.Connect(t, server), Config{}, late).waitReadIndex(t)
	first.waitReadIndex(t)
	if diff := cmp.Diff(folded.seen(), late.seen()); diff != "" || len(late.seen()) != 6 {
		t.Errorf("commands (-a pod that was there +one that starts):\n%s", diff)
	}
}

// A foreign message has no effect on any pod, and an operator can remove it.
func TestMessagesThatAreNoEntries(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	folded := &fakeStateMachine{}
	log := follow(t, natstest.Connect(t, server), Config{}, folded)
	log.put(t, "one")
	for _, message := range []string{"hello", `{"temperature":21}`, "", `[1]`, `{"v":"1"}`} {
		if _, err := log.js.Publish(natstest.Context(t), subject.Log, []byte(message)); err != nil {
			t.Fatal(err)
		}
	}
	log.put(t, "two")
	foreign := log.follower.applied() - 1
	if n := log.counters.foreign.Load(); n != 5 {
		t.Errorf("%d of 5 messages were counted", n)
	}
	restarted := &fakeStateMachine{}
	follow(t, natstest.Connect(t, server), Config{}, restarted).waitReadIndex(t)
	restarted.wantSeen(t, "one", "two")
	must.Succeed(t, log.stream.DeleteMsg(natstest.Context(t), foreign))
	without := &fakeStateMachine{}
	last := follow(t, natstest.Connect(t, server), Config{}, without)
	last.put(t, "three")
	log.waitReadIndex(t)
	for _, m := range []*fakeStateMachine{folded, without} {
		m.wantSeen(t, "one", "two", "three")
	}
}

// No pod waits for an entry that was deleted at the end of the log.
func TestTheLastMessageIsDeleted(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	log := follow(t, natstest.Connect(t, server), Config{}, &fakeStateMachine{})
	log.put(t, "one")
	if _, err := log.js.Publish(natstest.Context(t), subject.Log, []byte("hello")); err != nil {
		t.Fatal(err)
	}
	log.waitReadIndex(t)
	must.Succeed(t, log.stream.DeleteMsg(natstest.Context(t), log.follower.applied()))
	folded := &fakeStateMachine{}
	late := follow(t, natstest.Connect(t, server), Config{}, folded)
	must.Succeed(t, late.WaitCaughtUp(natstest.Context(t)))
	late.waitReadIndex(t)
	folded.wantSeen(t, "one")
}
