package cache

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func mark() task.Command { return task.Command{SnapshotMarker: &task.SnapshotMarker{}} }

// snapshot appends a snapshot marker and returns the snapshot with its encoding.
func (p *testStore) snapshot() (task.Snapshot, string) {
	p.t.Helper()
	p.apply(mark())
	s, ok := p.Snapshot()
	if !ok {
		p.t.Fatal("no snapshot was taken at a mark")
	}
	var b bytes.Buffer
	must.Succeed(p.t, s.Encode(&b))
	return s, b.String()
}

func TestRestoredStoreAnswersAsTheOneThatReadItAll(t *testing.T) {
	c, v := submit("ann", "a"), create("ann", "v", "data")
	gone := []task.Command{submit("bob", "old"), stop("bob", "old"), gone(taskKey("old")), create("bob", "w", "gone"), remove("bob", "w"), gone(volumeKey("w"))}
	whole := newTestStore(t, append([]task.Command{c, applied(taskKey("a"), "a/0"), v, applied(volumeKey("v"), "uid"), mounting("ann", "b", "data", "none")}, gone...)...)
	restored := newTestStore(t, submit("eve", "other"), mounting("eve", "x", "y"))
	for _, p := range []*testStore{whole, restored} {
		j := job(c, 0, task.Pending)
		p.putJob(j)
		p.putPod(pod(j, 1, task.Running))
		p.putClaim(claim(v, "Bound"))
	}
	var told []task.Key
	restored.OnChange(func(k task.Key) { told = append(told, k) })

	_, text := whole.snapshot()
	must.Succeed(t, restored.Restore(strings.NewReader(text)))
	if diff := cmp.Diff(whole.everything(t), restored.everything(t)); diff != "" {
		t.Errorf("answers (-whole +restored):\n%s", diff)
	}
	if got, _ := restored.Expired(noon.AddDate(1, 0, 0), 0, 0, 10); !cmp.Equal(onlyIDs(got), task.ExpireHistory{IDs: []string{"old"}, Volumes: []string{"w"}}) {
		t.Errorf("the history is %+v", got)
	}
	for _, k := range whole.Keys() {
		if !slices.Contains(told, k) {
			t.Errorf("nobody was told of %s", k)
		}
	}
	if restored.task("eve", "other") != "" {
		t.Error("a task that the snapshot does not hold is still answered for")
	}
	restored.seq = whole.seq
	for _, p := range []*testStore{whole, restored} {
		p.apply(submit("ann", "c"), stop("ann", "a"), remove("ann", "v"))
	}
	if diff := cmp.Diff(whole.everything(t), restored.everything(t)); diff != "" {
		t.Errorf("answers later (-whole +restored):\n%s", diff)
	}
	one, _ := whole.snapshot()
	other, _ := restored.snapshot()
	if one.Hash() != other.Hash() {
		t.Error("their states differ")
	}
}

func TestASnapshotThatCannotBeReadChangesNothing(t *testing.T) {
	p := newTestStore(t, submit("ann", "a"))
	before := p.everything(t)
	if err := p.Restore(strings.NewReader(`{"snapshot":1,"lines":1}`)); err == nil {
		t.Error("no error")
	}
	if diff := cmp.Diff(before, p.everything(t)); diff != "" {
		t.Errorf("answers (-before +after):\n%s", diff)
	}
}

func TestDivergedPodIsDetected(t *testing.T) {
	for _, tt := range []struct {
		name string
		kept func(s task.Snapshot) task.SnapshotStored
		want error
	}{
		{"the same", func(s task.Snapshot) task.SnapshotStored { return task.SnapshotStored{Seq: s.Seq(), Hash: s.Hash()} }, nil},
		{"another state", func(s task.Snapshot) task.SnapshotStored { return task.SnapshotStored{Seq: s.Seq(), Hash: "another"} }, task.ErrDiverged},
		{"another entry", func(s task.Snapshot) task.SnapshotStored {
			return task.SnapshotStored{Seq: s.Seq() - 1, Hash: "another"}
		}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newTestStore(t, submit("ann", "a"))
			s, _ := p.snapshot()
			kept := tt.kept(s)
			if err := p.verifySnapshot(&kept); !errors.Is(err, tt.want) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if _, ok := p.Snapshot(); ok {
				t.Error("the snapshot is held on to")
			}
		})
	}
}
