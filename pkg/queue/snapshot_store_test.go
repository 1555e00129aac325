package queue

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/natstest"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// storeSnapshot stores a snapshot of the machine into which log is folded, and compacts the
// log.
func storeSnapshot(t *testing.T, log *running, folded *fakeStateMachine) *snapshot {
	t.Helper()
	log.waitReadIndex(t)
	s := folded.snapshot(t, log)
	log.cutTo(t, s, noSubmissions)
	return s
}

// cutTo stores a snapshot and compacts the log.
func (r *running) cutTo(t *testing.T, s *snapshot, retained task.Submissions) {
	t.Helper()
	natstest.Patiently(t, func() error { return r.StoreSnapshot(t.Context(), s) })
	r.publishedThrough.Store(s.seq) // another test covers unpublished events
	natstest.Patiently(t, func() error {
		_, err := r.Compact(t.Context(), s.log, retained)
		return err
	})
}

func begins(t *testing.T, log *running) uint64 {
	t.Helper()
	info, err := log.stream.Info(natstest.Context(t))
	must.Succeed(t, err)
	return info.State.FirstSeq
}

func TestAPodStartsFromTheYoungestSnapshotAndReadsOn(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	first := &fakeStateMachine{}
	log := follow(t, natstest.Connect(t, server), Config{}, first)
	log.put(t, "one")
	storeSnapshot(t, log, first)
	if at := begins(t, log); at != 1 {
		t.Fatalf("the log was cut to entry %d with one snapshot", at)
	}
	log.put(t, "two")
	older := log.follower.applied()
	log.put(t, "three")
	storeSnapshot(t, log, first)
	log.put(t, "four")
	storeSnapshot(t, log, first)
	log.put(t, "five")
	log.waitReadIndex(t)
	if at := begins(t, log); at <= older || at >= log.follower.applied() {
		t.Errorf("the log begins at entry %d with snapshots at %d and later", at, older)
	}

	second := &fakeStateMachine{}
	other := follow(t, natstest.Connect(t, server), Config{}, second)
	other.waitReadIndex(t)
	second.wantSeen(t, "one", "two", "three", "four", "five")
	if n := len(second.stored()); n != 1 {
		t.Errorf("it read %d entries after the snapshot, 1 was stored after it", n)
	}
	if first.timesReset()+first.timesRestored() > 0 {
		t.Error("the pod that was there all along began anew")
	}
	log.put(t, "six")
	other.waitReadIndex(t)
	if diff := cmp.Diff(first.seen(), second.seen()); diff != "" {
		t.Errorf("commands (-first pod +second pod):\n%s", diff)
	}
}

// corrupt overwrites a stored snapshot under its name.
func corrupt(t *testing.T, log *running, s *snapshot) {
	t.Helper()
	all, err := log.listSnapshots(natstest.Context(t), s.log)
	must.Succeed(t, err)
	i := slices.IndexFunc(all, func(o storedSnapshot) bool { return o.seq == s.seq })
	info, err := log.bucket.Info(natstest.Context(t), all[i].object.Name)
	must.Succeed(t, err)
	if _, err := log.bucket.Put(natstest.Context(t), info.ObjectMeta, strings.NewReader(`{"ids":["spoilt"]}`)); err != nil {
		t.Fatal(err)
	}
}

func TestABrokenSnapshotIsPassedOver(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		broken int // number of corrupt snapshots, from the youngest
	}{{"the youngest", 1}, {"both", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			server := natstest.Embed(t, t.TempDir())
			first, second := &fakeStateMachine{}, &fakeStateMachine{}
			log := follow(t, natstest.Connect(t, server), Config{}, first)
			var kept []*snapshot
			for _, id := range []string{"one", "two", "three"} {
				log.put(t, id)
				kept = append(kept, storeSnapshot(t, log, first))
			}
			for _, s := range slices.Backward(kept[len(kept)-tt.broken:]) {
				corrupt(t, log, s)
			}
			c := Config{AcceptLogLoss: tt.broken == 2} // see TestAPodDoesNotStartWithoutASnapshot
			other := follow(t, natstest.Connect(t, server), c, second)
			other.put(t, "four")
			want := []string{"one", "two", "three", "four"}
			if tt.broken == 2 { // only the remaining entries
				want = []string{"two", "three", "four"}
			}
			if diff := cmp.Diff(want, second.seen()); diff != "" {
				t.Errorf("commands (-want +got):\n%s", diff)
			}
		})
	}
}

// newerRelease is a StateMachine that cannot decode the snapshot, because a newer release
// stored it.
type newerRelease struct{ fakeStateMachine }

func (n *newerRelease) Restore(io.Reader) error { return errors.New("a line that nobody understands") }

func TestASnapshotOfANewerReleaseEndsRun(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	folded := &fakeStateMachine{}
	log := follow(t, natstest.Connect(t, server), Config{}, folded)
	log.put(t, "one")
	storeSnapshot(t, log, folded)
	l := open(t, natstest.Connect(t, server), Config{})
	if err := l.Run(natstest.Context(t), &newerRelease{}); err == nil || !strings.Contains(err.Error(), "newer release") {
		t.Errorf("Run ended with %v", err)
	}
}

// NATS may answer one request for a chunk too late. The decoder then gives up, although the rest of
// the snapshot arrives.
func TestAReadThatFailsOnceSaysNothingAboutTheSnapshot(t *testing.T) {
	t.Parallel()
	snapshot := storedSnapshot{object: &jetstream.ObjectInfo{ObjectMeta: jetstream.ObjectMeta{Name: "s"}}, hash: fmt.Sprintf("%x", sha256.Sum256([]byte("content")))}
	decode := func(r io.Reader) error {
		_, err := io.ReadAll(r)
		return err
	}
	late := iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("content")))
	if err := readSnapshot(late, snapshot, decode); !errors.Is(err, iotest.ErrTimeout) || errors.Is(err, errUnreadable) || errors.Is(err, errBroken) {
		t.Errorf("the error is %v, want the error of the read alone", err)
	}
	if err := readSnapshot(strings.NewReader("content"), snapshot, decode); err != nil {
		t.Error(err)
	}
}

// A snapshot is not used if its last entry was lost and written differently since.
func TestASnapshotOfALostEndIsNotUsed(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	first, second := &fakeStateMachine{}, &fakeStateMachine{}
	log := follow(t, natstest.Connect(t, server), Config{}, first)
	log.put(t, "one")
	log.waitReadIndex(t)
	s := first.snapshot(t, log)
	s.raw = []byte(`{"ids":["lost"]}`)
	if err := log.putSnapshot(natstest.Context(t), s, "the hash of another entry"); err == nil {
		t.Fatal("a snapshot whose bytes are not those of its hash was stored")
	}
	lost := first.snapshot(t, log)
	must.Succeed(t, log.putSnapshot(natstest.Context(t), lost, "the hash of another entry"))
	other := follow(t, natstest.Connect(t, server), Config{}, second)
	other.waitReadIndex(t)
	if second.timesRestored() > 0 || len(second.seen()) != 1 {
		t.Errorf("it started from that snapshot, and saw %v", second.seen())
	}
}

func TestCompactLeavesNothingButTwoSnapshots(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	put := func(name, of string) {
		t.Helper()
		meta := jetstream.ObjectMeta{Name: name, Metadata: map[string]string{logHeader: of, seqHeader: "1"}}
		if _, err := log.bucket.Put(natstest.Context(t), meta, bytes.NewReader(make([]byte, 1000))); err != nil {
			t.Fatal(err)
		}
	}
	put("of another log", "other")
	if _, err := log.js.Publish(natstest.Context(t), "$O."+streams.SnapshotBucket+".C.orphan", []byte("of a writer that died")); err != nil {
		t.Fatal(err)
	}
	var want []uint64
	for _, id := range []string{"one", "two", "three", "four"} {
		log.put(t, id)
		want = append([]uint64{storeSnapshot(t, log, folded).seq}, want...)
	}
	objects, err := log.bucket.List(natstest.Context(t))
	if err != nil || len(objects) != 2 {
		t.Fatalf("%d objects are left, %v", len(objects), err)
	}
	all, err := log.listSnapshots(natstest.Context(t), log.follower.id())
	if err != nil || all[0].seq != want[0] || all[1].seq != want[1] {
		t.Errorf("snapshots %+v, %v; want those at %v", all, err, want[:2])
	}
	stream, err := log.js.Stream(natstest.Context(t), "OBJ_"+streams.SnapshotBucket)
	must.Succeed(t, err)
	if info, err := stream.Info(natstest.Context(t), jetstream.WithSubjectFilter(">")); err != nil || len(info.State.Subjects) != 4 {
		t.Errorf("the bucket holds %v, %v; want two subjects of each snapshot", info.State.Subjects, err)
	}
}

func TestASnapshotIsDueWhenTheLogHasGrownByOne(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	log.resize(t, minShare*4000)
	log.put(t, "one")
	if _, err := log.info(natstest.Context(t)); err != nil {
		t.Fatal(err)
	}
	if log.SnapshotDue() {
		t.Error("a snapshot is due after one small entry")
	}
	grow := func() {
		t.Helper()
		if _, err := log.Append(t.Context(), task.Command{Submit: &task.Submit{ID: "big", Task: task.Spec{Run: strings.Repeat("x", 4000)}}}); err != nil {
			t.Fatal(err)
		}
	}
	grow()
	if !log.SnapshotDue() {
		t.Error("no snapshot is due though the log grew")
	}
	storeSnapshot(t, log, folded)
	if log.SnapshotDue() {
		t.Error("a snapshot is due right after one")
	}
	log.snapshotPolicy.lastSize.Store(6000)
	grow()
	if log.SnapshotDue() {
		t.Error("a snapshot is due though the log grew by less than its size")
	}
	grow()
	if !log.SnapshotDue() {
		t.Error("no snapshot is due though the log grew by more than its size")
	}
}

func TestASnapshotIsDueWhenTheLastOneIsOld(t *testing.T) {
	t.Parallel()
	log, _ := start(t)
	log.put(t, "one")
	log.snapshotPolicy.reset(time.Now().Add(-steadyAge))
	log.put(t, "two")
	log.waitReadIndex(t)
	if log.SnapshotDue() {
		t.Error("a snapshot is due after two small entries")
	}
	grow := func() {
		t.Helper()
		for n := range 2 {
			if _, err := log.Append(t.Context(), task.Command{Submit: &task.Submit{ID: fmt.Sprint(n), Task: task.Spec{Run: strings.Repeat("x", steadyGrowth/2)}}}); err != nil {
				t.Fatal(err)
			}
		}
		log.waitReadIndex(t)
	}
	grow()
	if !log.SnapshotDue() {
		t.Error("no snapshot is due, though the last one is old and the log grew")
	}
	log.snapshotPolicy.reset(time.Now())
	grow()
	if log.SnapshotDue() {
		t.Error("a snapshot is due, though the last one is young and the log grew by little")
	}
}

// A stalledMachine is a StateMachine that folds no entries for a while.
type stalledMachine struct {
	fakeStateMachine
	stalls atomic.Bool
}

func (s *stalledMachine) Fold(e task.Entry) ([]task.Result, error) {
	if s.stalls.Load() {
		return nil, errors.New("stalled")
	}
	return s.fakeStateMachine.Fold(e)
}

// A pod that reads nothing while the log is compacted starts again from a snapshot, and still
// delivers the results of its own entries.
func TestAPodThatFellBehindStartsFromASnapshot(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	behind, ahead := &stalledMachine{}, &fakeStateMachine{}
	slow := follow(t, natstest.Connect(t, server), Config{}, behind)
	log := follow(t, natstest.Connect(t, server), Config{}, ahead)
	must.Succeed(t, slow.WaitCaughtUp(t.Context()))
	behind.stalls.Store(true)
	result := make(chan task.Result, 1)
	go func() {
		v, err := slow.Append(t.Context(), natstest.Submission("mine"))
		if err != nil {
			t.Errorf("append by the slow pod: %v", err)
		}
		result <- v
	}()
	ahead.await(t, "the slow pod's entry is stored", func() bool { return slices.Contains(ahead.seen(), "mine") })
	for _, id := range []string{"two", "three"} {
		log.put(t, id)
		storeSnapshot(t, log, ahead)
	}
	behind.stalls.Store(false)
	if v := <-result; v.ID != "mine" {
		t.Errorf("verdict %+v", v)
	}
	slow.waitReadIndex(t)
	if diff := cmp.Diff(ahead.seen(), behind.seen()); diff != "" {
		t.Errorf("commands (-ahead +behind):\n%s", diff)
	}
	if behind.timesRestored() != 1 || behind.timesReset() != 0 {
		t.Errorf("restored %d times, reset %d times", behind.timesRestored(), behind.timesReset())
	}
}

// A divergingMachine is a StateMachine whose state diverges at an entry.
type divergingMachine struct {
	fakeStateMachine
	once sync.Once
}

func (m *divergingMachine) Fold(e task.Entry) (results []task.Result, err error) {
	results, err = m.fakeStateMachine.Fold(e)
	if len(results) > 0 && results[0].ID == "three" {
		m.once.Do(func() { err = task.ErrDiverged })
	}
	return results, err
}

func TestDivergedPodRestoresTheSnapshotOfTheOthers(t *testing.T) {
	t.Parallel()
	server := natstest.Embed(t, t.TempDir())
	wrong, right := &divergingMachine{}, &fakeStateMachine{}
	other := follow(t, natstest.Connect(t, server), Config{}, wrong)
	other.waitReadIndex(t) // not from the snapshot
	log := follow(t, natstest.Connect(t, server), Config{}, right)
	log.put(t, "one")
	log.put(t, "two")
	storeSnapshot(t, log, right)
	if v := other.put(t, "three"); v.Count != 2 {
		t.Errorf("verdict %+v", v)
	}
	log.put(t, "four")
	other.waitReadIndex(t)
	if diff := cmp.Diff(right.seen(), wrong.seen()); diff != "" || wrong.timesRestored() != 1 {
		t.Errorf("restored %d times; commands (-right +astray):\n%s", wrong.timesRestored(), diff)
	}
}

// A log that is full, so that it accepts no marker, is compacted to its youngest snapshot.
func TestAFullLogIsCompactedWithoutAMarker(t *testing.T) {
	t.Parallel()
	log, folded := start(t)
	for _, id := range []string{"one", "two"} {
		log.put(t, id)
		storeSnapshot(t, log, folded)
	}
	log.put(t, "three")
	submissions := submissionLedger{}.submissions
	log.publishedThrough.Store(log.follower.applied())
	natstest.Patiently(t, func() error { return log.MakeSpace(t.Context(), submissions) })
	before := begins(t, log)
	log.resize(t, int64(log.size(t))+10) //nolint:gosec // some bytes
	marker := task.Command{SnapshotMarker: &task.SnapshotMarker{}}
	if _, err := log.Append(t.Context(), marker); err == nil {
		t.Fatal("a full log accepted a marker")
	}
	natstest.Patiently(t, func() error { return log.MakeSpace(t.Context(), submissions) })
	all, err := log.listSnapshots(natstest.Context(t), log.follower.id())
	if err != nil || len(all) != 1 {
		t.Fatalf("snapshots %+v, %v; want one", all, err)
	}
	if got := begins(t, log); got != all[0].seq || got <= before {
		t.Errorf("the log begins at entry %d, want %d; before it was %d", got, all[0].seq, before)
	}
	if _, err := log.Append(t.Context(), marker); err != nil {
		t.Errorf("the log still accepts no marker: %v", err)
	}
}
