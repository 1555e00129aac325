package state

import (
	"slices"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

const (
	year = 365 * 24 * time.Hour
	week = 7 * 24 * time.Hour
)

// foldAt folds a command that NATS stored at one time and its writer wrote at another time;
// zero means that the entry has no such time.
func (s *testState) foldAt(stored, written time.Time, c task.Command) task.Result {
	s.t.Helper()
	s.number++
	e := entry(s.Seq+1, "writer", s.number, c)
	e.Time, e.Written = stored, written
	return s.Fold(e).Results[0]
}

func TestLogTimeIsTheMedianOfThreeClocks(t *testing.T) {
	at := func(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }
	type stamp struct{ stored, written time.Time }
	for _, tt := range []struct {
		name    string
		entries []stamp
		want    []time.Time
	}{
		{"all are right", []stamp{{at(1), at(1)}, {at(3), at(2)}, {at(5), at(5)}}, []time.Time{at(1), at(2), at(5)}},
		{"NATS is ahead", []stamp{{at(1), at(1)}, {at(2).Add(year), at(2)}, {at(3), at(3)}}, []time.Time{at(1), at(2), at(3)}},
		{"NATS is behind", []stamp{{at(1), at(1)}, {at(2).Add(-year), at(2)}, {at(3), at(3)}}, []time.Time{at(1), at(1), at(3)}},
		{"a writer is ahead", []stamp{{at(1), at(1)}, {at(2), at(2).Add(year)}, {at(3), at(3)}}, []time.Time{at(1), at(2), at(3)}},
		{"a writer is behind", []stamp{{at(1), at(1)}, {at(2), at(2).Add(-year)}, {at(3), at(3)}}, []time.Time{at(1), at(1), at(3)}},
		{"both are ahead, and then right", []stamp{{at(1), at(1)}, {at(2).Add(year), at(2).Add(year)}, {at(3), at(3)}}, []time.Time{at(1), at(2).Add(year), at(3)}},
		{"both are behind, and then right", []stamp{{at(1), at(1)}, {at(2).Add(-year), at(2).Add(-year)}, {at(3), at(3)}}, []time.Time{at(1), at(2).Add(-year), at(3)}},
		{"the writer says nothing", []stamp{{at(1), time.Time{}}, {at(2).Add(year), time.Time{}}, {at(3), time.Time{}}}, []time.Time{at(1), at(2).Add(year), at(3)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t)
			for i, e := range tt.entries {
				id := string(rune('a' + i))
				w.foldAt(e.stored, e.written, submit("ann", id))
				if got := w.Tasks[id].CreatedAt; !got.Equal(tt.want[i]) {
					t.Errorf("entry %d: %s, want %s", i, got, tt.want[i])
				}
			}
		})
	}
}

// An entry with a wrong time changes only its own times, and moves no time backwards.
func TestOneWrongEntryLeavesTheTimesOfOthers(t *testing.T) {
	none := time.Time{}
	w := newTestState(t)
	w.foldAt(noon, none, submit("ann", "a"))
	w.foldAt(noon.Add(year), none, submit("ann", "ahead"))
	w.foldAt(noon.Add(time.Second), none, submit("ann", "b"))
	w.foldAt(noon.Add(-year), none, applied(taskKey("a"), "u"))
	w.foldAt(noon.Add(-year), none, ended("a", task.Completed))
	if at := w.Tasks["b"].CreatedAt; !at.Equal(noon.Add(time.Second)) {
		t.Errorf("an entry after one of the future is of %s", at)
	}
	if at := w.Tasks["a"].UpdatedAt(); !at.Equal(noon) {
		t.Errorf("an entry of the past took the time of a task back to %s", at)
	}
}

func TestExpiryNeedsBothClocks(t *testing.T) {
	done := noon.Add(time.Minute)
	for _, tt := range []struct {
		name        string
		now, stored time.Time // by the clock of the leader and by the clock of NATS
		tasks       int       // size limit of the history
		kept        bool
		updated     time.Time
	}{
		{"too old", done.Add(week + 1), done.Add(week + 1), 10, false, done},
		{"not too old", done.Add(week - 1), done.Add(week - 1), 10, true, done},
		{"too old by the leader's clock alone", done.Add(8 * week), done.Add(time.Hour), 10, true, done},
		{"too old by the clock of NATS alone", done.Add(time.Hour), done.Add(8 * week), 10, true, done},
		{"too many", done, done, 1, false, done},
		{"just enough", done, done, 2, true, done},
		{"too many, by clocks that are behind", done.Add(-year), done.Add(-year), 0, false, done},
		{"ahead of the leader's clock alone", done.Add(-year), done.Add(time.Hour), 10, true, done},
		{"ahead of the clock of NATS alone", done.Add(time.Hour), done.Add(-year), 10, true, done},
		{"ahead of both", done.Add(-time.Hour), done.Add(-2 * time.Hour), 10, true, done.Add(-time.Hour)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t)
			for _, c := range []task.Command{
				submit("ann", "a"), submit("ann", "b"), stop("ann", "a"), stop("ann", "b"), gone(taskKey("a")), gone(taskKey("b")),
				create("ann", "v", "data"), create("ann", "x", "models"), remove("ann", "v"), remove("ann", "x"), gone(volumeKey("v")), gone(volumeKey("x")),
			} {
				w.foldAt(done, time.Time{}, c)
			}
			result := w.foldAt(tt.stored, time.Time{}, task.Command{ExpireHistory: &task.ExpireHistory{
				IDs: []string{"a"}, Volumes: []string{"v"}, Now: tt.now, Then: tt.now.Add(-week), Tasks: tt.tasks,
			}})
			followed := !tt.kept || !tt.updated.Equal(done)
			if kept, changed := w.Tasks["a"] != nil, result.Count == 2; kept != tt.kept || changed != followed || (w.Volumes["v"] != nil) != kept {
				t.Fatalf("kept %v, verdict %+v", kept, result)
			}
			if tt.kept && (!w.Tasks["a"].UpdatedAt().Equal(tt.updated) || !w.Volumes["v"].DeletedAt.Equal(tt.updated)) {
				t.Errorf("times %s and %s, want %s", w.Tasks["a"].UpdatedAt(), w.Volumes["v"].DeletedAt, tt.updated)
			}
		})
	}
}

// The history is in the order in which tasks ended, whatever their times are.
func TestTheEndHasItsPlaceInTheLog(t *testing.T) {
	w := newTestState(t)
	for i, id := range []string{"a", "b", "c"} {
		w.foldAt(noon, time.Time{}, submit("ann", id))
		w.foldAt(noon.Add(-time.Duration(i)*year), time.Time{}, stop("ann", id))
	}
	ends := []uint64{w.Tasks["a"].EndSeq(), w.Tasks["b"].EndSeq(), w.Tasks["c"].EndSeq()}
	if !slices.IsSorted(ends) || ends[0] == 0 {
		t.Errorf("places %d", ends)
	}
}

func TestDeletingUploadsNeedsBothClocks(t *testing.T) {
	used := noon.Add(time.Minute)
	for _, tt := range []struct {
		name        string
		now, stored time.Time
		kept        bool
		used        time.Time
	}{
		{"unused for long", used.Add(week), used.Add(week), false, used},
		{"used lately", used.Add(week - 1), used.Add(week - 1), true, used},
		{"unused for long by the leader's clock alone", used.Add(year), used.Add(time.Hour), true, used},
		{"unused for long by the clock of NATS alone", used.Add(time.Hour), used.Add(year), true, used},
		{"used in the future of both", used.Add(-time.Hour), used.Add(-2 * time.Hour), true, used.Add(-time.Hour)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t)
			w.foldAt(used, time.Time{}, uploaded("ann", "x"))
			k := task.UploadKey{User: "ann", Sum: "x"}
			w.foldAt(tt.stored, time.Time{}, task.Command{DeleteUploads: &task.DeleteUploads{Uploads: []task.UploadKey{k}, Now: tt.now, Then: tt.now.Add(-week)}})
			u, kept := w.Uploads[k]
			if kept != tt.kept || kept && !u.Used.Equal(tt.used) {
				t.Errorf("kept %v, used %s", kept, u.Used)
			}
		})
	}
}
