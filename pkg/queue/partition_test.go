package queue

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// twoPods returns a pod at the third server of a cluster, which leads the log and can be cut
// off, and a pod at the first server.
func twoPods(t *testing.T) (c *natstest.Cluster, cutOff, other *running, folded [2]*fakeStateMachine) {
	t.Helper()
	c = natstest.StartCluster(t)
	folded = [2]*fakeStateMachine{{}, {}}
	cutOff = follow(t, c.Dial(t, 2), Config{Replicas: 3}, folded[0])
	other = follow(t, c.Dial(t, 0), Config{Replicas: 3}, folded[1])
	c.MakeLeader(t, cutOff.nats, subject.LogStream, 2)
	cutOff.put(t, "before")
	other.waitReadIndex(t)
	cutOff.waitReadIndex(t)
	return c, cutOff, other, folded
}

// putEventually appends until the log accepts the submission.
func (r *running) putEventually(t *testing.T, id string) {
	t.Helper()
	natstest.Eventually(t, "the log to take "+id, func() bool {
		_, err := r.Append(t.Context(), natstest.Submission(id))
		return err == nil
	})
}

// While a pod is cut off together with the leader of the log, none of its reads counts as
// current without the entries that the other side has acknowledged.
func TestReadsOfAPodThatIsCutOff(t *testing.T) {
	t.Parallel()
	natstest.SkipIfShort(t)
	c, cutOff, other, folded := twoPods(t)
	c.Cut()
	var acknowledged atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		other.putEventually(t, "during")
		acknowledged.Store(true)
		natstest.Eventually(t, "the deposed leader to step down", func() bool { return !c.Leads(2, subject.LogStream) })
		c.Heal()
	}()
	marked, stale := 0, 0
	for healed := false; !healed; {
		select {
		case <-ended:
			healed = true
		case <-time.After(5 * time.Millisecond):
		}
		lacks := acknowledged.Load()
		if _, ok := cutOff.WaitReadIndex(t.Context()); !ok {
			marked++
		} else if lacks && !slices.Contains(folded[0].seen(), "during") {
			stale++
		}
	}
	if stale > 0 || marked == 0 {
		t.Errorf("%d reads passed for current and lacked what was acknowledged, %d were marked", stale, marked)
	}
	natstest.Eventually(t, "the cluster to be whole again", func() bool { // NATS may take half a minute
		_, ok := cutOff.WaitReadIndex(t.Context())
		return ok
	})
	other.waitReadIndex(t)
	if diff := cmp.Diff(folded[1].seen(), folded[0].seen()); diff != "" {
		t.Errorf("after the partition (-other +cut off):\n%s", diff)
	}
	if n := folded[0].timesReset() + folded[0].timesRestored(); n > 0 {
		t.Errorf("the pod that was cut off dropped its state %d times", n)
	}
}

// After another leader was elected, the pod on the majority side answers without X-Stale for
// as long as a server is down.
func TestReadsWithoutOneOfThreeServers(t *testing.T) {
	t.Parallel()
	c, _, other, folded := twoPods(t)
	c.Down(2)
	other.putEventually(t, "during")
	other.waitReadIndex(t)
	// The leader has not heard of the third server for long, so every read needs a barrier
	// entry.
	natstest.Eventually(t, "the leader to miss the third server", func() bool {
		info, err := other.js.Stream(natstest.Context(t), subject.LogStream)
		return err == nil && slices.ContainsFunc(info.CachedInfo().Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return p.Active <= 0 || p.Active > streams.MaxReplicaSilence })
	})
	for _, id := range natstest.Names("more", 5) {
		other.put(t, id)
		other.waitReadIndex(t)
	}
	if n := folded[1].timesReset() + folded[1].timesRestored(); n > 0 {
		t.Errorf("it dropped its state %d times", n)
	}
}

// A follower does not take the answer of a deposed leader as proof that the log was replaced,
// however often the leadership moves.
func TestNoPodDropsItsStateWhenTheLeaderMoves(t *testing.T) {
	t.Parallel()
	natstest.SkipIfShort(t)
	c, cutOff, other, folded := twoPods(t)
	var ends atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; !ends.Load(); n++ {
			_, _ = other.Append(t.Context(), natstest.Submission(fmt.Sprint("task", n)))
			<-time.After(5 * time.Millisecond) // the servers need the processor too
		}
	}()
	for round := range 6 {
		c.MakeLeader(t, other.nats, subject.LogStream, round%3)
		other.waitReadIndex(t)
		cutOff.waitReadIndex(t)
	}
	ends.Store(true)
	<-done
	other.putEventually(t, "last") // earlier entries in flight are stored by then, or never will be
	other.waitReadIndex(t)
	cutOff.waitReadIndex(t)
	if diff := cmp.Diff(folded[1].seen(), folded[0].seen()); diff != "" {
		t.Errorf("commands (-one pod +the other):\n%s", diff)
	}
	for i, m := range folded {
		if n := m.timesReset() + m.timesRestored(); n > 0 {
			t.Errorf("pod %d dropped its state %d times", i, n)
		}
	}
}

// A command whose caller got 503 is not stored later, behind entries that were acknowledged in
// the meantime, when the pod reaches NATS again.
func TestACommandIsStoredInTimeOrNever(t *testing.T) {
	t.Parallel()
	remote := natstest.Serve(t)
	link := natstest.NewRoute(t, remote.Options.Port)
	away, here := &fakeStateMachine{}, &fakeStateMachine{}
	pod := follow(t, natstest.Dial(t, link.URL), Config{}, away)
	other := follow(t, remote.Dial(t), Config{}, here)
	pod.put(t, "before")
	link.Cut()
	if err := pod.sending(t, "sent")(); !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "may have been stored") {
		t.Errorf("of a command that was sent: %v", err)
	}
	for _, id := range []string{"behind it", "later"} {
		ctx, cancel := context.WithTimeout(t.Context(), retryPause)
		if _, err := pod.Append(ctx, natstest.Submission(id)); !errors.Is(err, problem.Unavailable) {
			t.Errorf("append %s while NATS is away: %v", id, err)
		}
		cancel()
	}
	other.put(t, "accepted later")
	link.Heal()
	pod.put(t, "after")
	other.waitReadIndex(t)
	here.wantSeen(t, "before", "accepted later", "after")
}

// A command that waits behind an entry that NATS does not acknowledge is never sent.
func TestACommandThatWaitsIsTakenBack(t *testing.T) {
	t.Parallel()
	server := natstest.Serve(t)
	folded := &fakeStateMachine{}
	log := follow(t, server.Dial(t), Config{}, folded)
	log.put(t, "before")
	server.Down()
	leave := log.sending(t, "sent")
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := log.Append(ctx, natstest.Submission("waits")); !errors.Is(err, problem.Unavailable) || !strings.Contains(err.Error(), "nothing was stored") {
		t.Errorf("of a command that was not sent: %v", err)
	}
	if err := leave(); !strings.Contains(err.Error(), "may have been stored") {
		t.Errorf("of a command that was sent: %v", err)
	}
	server.Up(t)
	log.put(t, "after")
	folded.wantSeen(t, "before", "after")
}

// A snapshot is found and read back although a server that was down for long lacks it and
// catches up slowly.
func TestSnapshotsWhileAReplicaCatchesUp(t *testing.T) {
	t.Parallel()
	natstest.SkipIfShort(t)
	c := natstest.StartCluster(t)
	folded := &fakeStateMachine{}
	log := follow(t, c.Dial(t, 0), Config{Replicas: 3}, folded)
	log.put(t, "first")
	snapshot := func() {
		t.Helper()
		log.put(t, "one more")
		log.waitReadIndex(t)
		s := folded.snapshot(t, log)
		s.raw = append(s.raw, noise(1<<20)...)
		sum := sha256.Sum256(s.raw)
		s.hash = hex.EncodeToString(sum[:])
		natstest.Eventually(t, "a snapshot to be stored", func() bool { return log.StoreSnapshot(natstest.Context(t), s) == nil })
		log.publishedThrough.Store(s.seq)
		natstest.Eventually(t, "the log to be cut", func() bool {
			_, err := log.Compact(natstest.Context(t), s.log, noSubmissions)
			return err == nil
		})
	}
	snapshot()
	snapshot()
	c.Down(2)
	for range 3 {
		snapshot()
	}
	for _, l := range c.Links {
		l.Throttle(400 << 10)
	}
	c.Up(t, 2)
	lagging := c.Dial(t, 2)
	js := natstest.JetStream(t, lagging)
	at := &snapshotStore{logStream: &logStream{js: js, logger: log.logger}}
	natstest.Eventually(t, "the bucket to be found", func() bool {
		var err error
		at.bucket, err = blob.OpenBucket(t.Context(), js, log.config.settings(), jetstream.ObjectStoreConfig{Bucket: streams.SnapshotBucket})
		return err == nil
	})
	complete := 0
	natstest.Eventually(t, "the replica to catch up", func() bool {
		all, err := at.listSnapshots(natstest.Context(t), log.follower.id())
		if err == nil && len(all) != retainedSnapshots {
			t.Errorf("a list of %d snapshots, %d are stored", len(all), retainedSnapshots)
		}
		if err == nil {
			complete++
		}
		info, err := log.js.Stream(natstest.Context(t), "OBJ_"+streams.SnapshotBucket)
		return complete > 10 && err == nil && !slices.ContainsFunc(info.CachedInfo().Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current })
	})
	snapshot()
}

// An entry that NATS stores after its callers got their answers has no effect, and a command
// that still has a caller is sent again.
func TestAnEntryThatIsStoredTooLate(t *testing.T) {
	t.Parallel()
	folded := &expiringMachine{}
	log := follow(t, natstest.Connect(t, natstest.Embed(t, t.TempDir())), Config{}, folded)
	log.put(t, "before")
	log.clock.reset(time.Now().Add(-time.Hour)) // as if the clock of NATS had been set since
	log.put(t, "during")
	folded.wantSeen(t, "before", "during")
	if folded.expired != 1 {
		t.Errorf("%d entries had expired, want 1", folded.expired)
	}
	if now, known := log.clock.now(); !known || time.Since(now).Abs() > time.Minute {
		t.Errorf("the clock of NATS is taken to show %s", now)
	}
}

// An expiringMachine rejects expired entries, as the state does.
type expiringMachine struct {
	fakeStateMachine
	expired int
}

func (m *expiringMachine) Fold(e task.Entry) ([]task.Result, error) {
	if !e.IsExpired() {
		return m.fakeStateMachine.Fold(e)
	}
	m.expired++
	return slices.Repeat([]task.Result{{Rejection: task.RejectedExpired}}, len(e.Commands)), nil
}

// Entries reach a pod although NATS creates no consumer for the pod.
func TestEntriesWithoutAConsumer(t *testing.T) {
	t.Parallel()
	r := natstest.Serve(t)
	writer := follow(t, r.Dial(t), Config{}, &fakeStateMachine{})
	writer.put(t, "one")
	folded := &fakeStateMachine{}
	l, err := Open(natstest.Context(t), r.Dial(t), Config{})
	must.Succeed(t, err)
	head, err := l.identify(natstest.Context(t), appliedPosition{})
	must.Succeed(t, err)
	must.Succeed(t, l.follower.bootstrap(natstest.Context(t), head, folded))
	writer.put(t, "two")
	must.Succeed(t, l.follower.fetch(t.Context(), folded))
	messages, err := l.consume(natstest.Context(t), 1) // delivers entries again that fetch has folded
	must.Succeed(t, err)
	defer messages.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	read := make(chan error, 1)
	go func() {
		err := error(jetstream.ErrNoHeartbeat) // of a slow machine
		for errors.Is(err, jetstream.ErrNoHeartbeat) {
			err = l.follower.read(ctx, messages, folded)
		}
		read <- err
	}()
	writer.put(t, "three")
	folded.await(t, "the third", func() bool { return slices.Contains(folded.seen(), "three") })
	cancel()
	if err := <-read; !errors.Is(err, context.Canceled) {
		t.Errorf("reading ended with %v", err)
	}
	folded.wantSeen(t, "one", "two", "three")
	if got, want := folded.stored(), writer.follower.applied(); uint64(len(got)) != want || got[2].Time.IsZero() {
		t.Errorf("%d entries of %d, the third of %s", len(got), want, got[2].Time)
	}
}
