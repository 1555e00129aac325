package state

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

var users = []string{"a@b", "a-b", "A", "a", ""}

// A generator draws commands about few objects, so that the commands affect each other.
type generator struct{ *rand.Rand }

func (g generator) one(of ...string) string { return of[g.IntN(len(of))] }

func (g generator) id() string { return fmt.Sprint(g.IntN(12)) }

func (g generator) key() task.Key {
	if g.IntN(2) == 0 {
		return volumeKey(g.id())
	}
	return taskKey(g.id())
}

func selects(f task.Filter, r *CompactRecord) bool {
	m := NewMatcher(f)
	return m.Matches(r)
}

func (g generator) filter() *task.Filter {
	f := &task.Filter{Conditions: task.Conditions{Phases: []task.Phase{task.Phase(g.one(string(task.Pending), string(task.Running)))}}}
	if g.IntN(2) == 0 {
		f.Not = &task.Conditions{Group: g.one("g", "h"), Name: g.one("", "train")}
	}
	if g.IntN(2) == 0 {
		f.Until = g.moment(noon)
	}
	return f
}

func (g generator) command() task.Command {
	user, id := users[g.IntN(len(users))], g.id()
	switch g.IntN(27) {
	case 0, 1, 2:
		c := submitNodes(user, id, 1+g.IntN(2))
		if g.IntN(3) == 0 {
			c.Submit.Task.Uploads = map[string]string{"/a": g.one("x", "y"), "/b": g.one("x", "y")}
		}
		c.Submit.Key = g.one("", "", "k", "l")
		c.Submit.Group = g.one("", "g", "h")
		c.Submit.MaxParallel, c.Submit.FailFast = max(g.IntN(5)-2, 0), g.IntN(6) == 0
		if g.IntN(3) == 0 {
			c.Submit.After = []string{g.one(g.id(), "k")}
		}
		if g.IntN(5) == 0 {
			c.Submit.AfterAny = []string{g.id(), g.id()}
		}
		if g.IntN(3) == 0 {
			c.Submit.Task.Outputs = []string{"results"}
		}
		c.Submit.Together = max(g.IntN(8)-4, 0)
		if g.IntN(3) == 0 {
			c.Submit.JobGroup = &task.JobGroup{ID: id, Name: "j", Tasks: 2, Jobs: 3, Primary: g.IntN(2) == 0, Delay: g.IntN(3)}
			if g.IntN(2) == 0 {
				c.Submit.JobGroup.ID, c.Submit.JobGroup.Index = g.id(), 1+g.IntN(2)
			}
		}
		return c
	case 3:
		return stop(user, id)
	case 4:
		if g.IntN(4) == 0 {
			return stopEveryone(user)
		}
		c := stopGroup(user, g.one("", "g", "h"))
		if g.IntN(3) == 0 {
			c.StopAll.Filter = g.filter()
		}
		return c
	case 5:
		c := create(user, id, g.one("data", "models"))
		c.Create.Key = g.one("", "k")
		return c
	case 6:
		return remove(user, id)
	case 7:
		return resolved(id, g.one("x", "y"))
	case 8:
		return delayed(g.key(), g.one("Quota", "Busy"))
	case 9, 10, 11:
		return applied(g.key(), []string{"u", "v"}[:1+g.IntN(2)]...)
	case 12:
		return started(id)
	case 13:
		return ended(id, task.Phase(g.one(string(task.Completed), string(task.Failed), string(task.Running))))
	case 14:
		return refused(g.key(), "Invalid")
	case 15:
		return task.Command{SnapshotMarker: &task.SnapshotMarker{}}
	case 16:
		return claimed(id, g.one(task.VolumeBound, task.VolumeLost))
	case 17:
		return uploaded(user, g.one("x", "y"))
	case 18:
		return discarded(user, g.one("x", "y"), noon.Add(time.Duration(g.IntN(200))*time.Second))
	case 19, 20:
		return admitted(task.JobLimits{Total: g.IntN(6), PerUser: g.IntN(4)}, g.id(), g.id(), g.id())
	case 21:
		now := g.moment(noon)
		return task.Command{ExpireHistory: &task.ExpireHistory{
			IDs: []string{g.id(), g.id(), g.id()}, Volumes: []string{g.id(), g.id()},
			Now: now, Then: now.Add(-time.Duration(g.IntN(300)) * time.Second), Tasks: g.IntN(6),
			Keys: g.IntN(3), KeysThen: now.Add(-time.Duration(g.IntN(300)) * time.Second),
		}}
	case 22:
		return adoptedVolume(user, id)
	case 24:
		return endSession(user, g.one("", "1", "2", "3"), g.moment(noon).Add(time.Duration(g.IntN(300))*time.Second))
	case 25, 26:
		stored := outputs.Stored{ID: id, Rank: g.IntN(3) - g.IntN(2), Quota: int64(g.IntN(60)), Error: g.one("", "", "too large")}
		if stored.Error == "" {
			stored.Archive = outputs.Archive{Object: g.one("o", "p", "q"), Size: int64(g.IntN(30)), Sum: "x"}
		}
		return task.Command{OutputsStored: &stored}
	case 23:
		return restarted(id, g.attempt(), g.attempt())
	}
	return gone(g.key())
}

// attempt draws an attempt of one of two nodes.
func (g generator) attempt() task.Attempt {
	return task.Attempt{Rank: g.IntN(3) - g.IntN(2), Number: g.IntN(4), UID: g.one("p", "q"), Reason: g.one("Error", "Evicted"), LastLines: "x", ExitCode: new(g.IntN(3))}
}

// moment draws a time of a clock that may be right, a little late, or wrong by a year.
func (g generator) moment(at time.Time) time.Time {
	year := 365 * 24 * time.Hour
	wrong := []time.Duration{0, 0, 0, 0, -time.Minute, time.Minute, -year, year}
	return at.Add(wrong[g.IntN(len(wrong))])
}

// seeds returns the number of seeds of a test, which is a tenth of all under -short.
func seeds(all uint64) uint64 {
	if testing.Short() {
		return all / 10
	}
	return all
}

// log draws a log of several writers, with entries that are repeated, out of order, or of
// another log.
func (g generator) log(length int) []task.Entry {
	numbers := map[string]uint64{}
	entries := []task.Entry{{Version: task.EntryVersion, Log: "log", Seq: 1, Time: noon}}
	for len(entries) < length {
		writer := g.one("w1", "w2", "w3")
		numbers[writer]++
		e := entry(uint64(len(entries)+1), writer, numbers[writer])
		at := e.Time
		if e.Time = g.moment(at); g.IntN(3) > 0 {
			e.Written = g.moment(at)
		}
		for range 1 + g.IntN(4) {
			e.Commands = append(e.Commands, json.RawMessage(text(g.command())))
		}
		entries = append(entries, e)
		if again := e; g.IntN(5) == 0 {
			again.Seq++
			switch g.IntN(3) {
			case 0: // repeated unchanged
			case 1:
				again.Log = "other"
			case 2:
				again.Number += 7
			}
			entries = append(entries, again)
		}
	}
	return entries
}

// folded folds entries into s and returns the results.
func folded(s *State, entries []task.Entry) []FoldResult {
	results := make([]FoldResult, len(entries))
	for i, e := range entries {
		results[i] = s.Fold(e)
	}
	return results
}

func TestTheSameLogGivesTheSameState(t *testing.T) {
	for seed := range seeds(50) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		entries := g.log(150)
		whole, parts := New(), New()
		want := folded(whole, entries)
		cut := g.IntN(len(entries))
		got := append(folded(parts, entries[:cut]), folded(parts, entries[cut:])...)
		if !reflect.DeepEqual(plain(want), plain(got)) {
			t.Fatalf("seed %d: results (-one pod +another):\n%s", seed, cmp.Diff(plain(want), plain(got)))
		}
		if !reflect.DeepEqual(whole, parts) {
			t.Fatalf("seed %d: states (-one pod +another):\n%s", seed, cmp.Diff(whole, parts, cmp.Exporter(func(reflect.Type) bool { return true })))
		}
	}
}

// Entries without effect may occur anywhere and change nothing.
func TestRepeatedAndRejectedEntriesChangeNothing(t *testing.T) {
	for seed := range seeds(50) {
		entries := generator{rand.New(rand.NewPCG(seed, 2))}.log(150)
		noisy, quiet := New(), New()
		for i, e := range entries {
			result := noisy.Fold(e)
			if i > 0 && (e.Log != "log" || e.Number != quiet.number(e.Writer)+1) {
				if len(result.Changed) != 0 {
					t.Fatalf("seed %d: entry %d changed %v", seed, e.Seq, result.Changed)
				}
				continue
			}
			quiet.Fold(e)
		}
		noisy.Seq = quiet.Seq
		if diff := cmp.Diff(records(quiet), records(noisy)); diff != "" {
			t.Fatalf("seed %d: tasks (-without +with them):\n%s", seed, diff)
		}
		if diff := cmp.Diff(quiet.Volumes, noisy.Volumes); diff != "" {
			t.Fatalf("seed %d: volumes (-without +with them):\n%s", seed, diff)
		}
	}
}

func (s *State) number(id string) uint64 {
	if w := s.writers[id]; w != nil {
		return w.number
	}
	return 0
}

// checkWaits checks that a task that waits for others is not admitted, and that the end of each
// of them will be noticed.
func checkWaits(fail func(string, ...any), s *State, t *CompactRecord) {
	r := t.Record()
	if t.Waits() && (r.Admitted || r.UIDs != nil || r.Phase.Over()) {
		fail("task %s waits, and is %s, admitted %t", t.ID, r.Phase, r.Admitted)
	}
	for _, w := range r.WaitsFor {
		if before := s.Tasks[w.ID]; before == nil || before.Phase().Over() || !s.successors[w.ID][t.ID] {
			fail("task %s waits for %s for ever", t.ID, w.ID)
		}
	}
}

func TestInvariantsAfterEveryCommand(t *testing.T) {
	for seed := range seeds(50) {
		g := generator{rand.New(rand.NewPCG(seed, 3))}
		s := newTestState(t)
		kept := map[*CompactRecord]CompactRecord{}
		for range 300 {
			c := g.command()
			before := map[string]*CompactRecord{}
			for id, r := range s.Tasks {
				before[id], kept[r] = r, *r
			}
			volumes := map[string]*task.VolumeRecord{}
			for id, v := range s.Volumes {
				volumes[id] = v
			}
			result, changed := s.fold(c)
			fail := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d: after %s (%+v): %s", seed, text(c), result, fmt.Sprintf(format, args...))
			}
			keys := map[task.Key]bool{}
			for _, k := range changed {
				keys[k] = true
			}
			for id, t := range s.Tasks {
				r := t.Record()
				if t != before[id] && !keys[taskKey(id)] {
					fail("task %s changed and nobody is told", id)
				}
				if t != before[id] && before[id] != nil {
					checkStep(fail, c, before[id].Record(), r)
				}
				checkWaits(fail, s.State, t)
			}
			for id := range volumes {
				if s.Volumes[id] != volumes[id] && !keys[volumeKey(id)] {
					fail("volume %s changed and nobody is told", id)
				}
			}
			for _, r := range records(s.State) {
				if sums := s.missing(r.Submit); len(sums) > 0 && !r.Phase.Over() {
					fail("task %s is not over and its uploads %q are gone", r.Submit.ID, sums)
				}
			}
			checkHistory(fail, c, s.State, before)
			checkIndexes(fail, s.State)
			checkOutputs(fail, c, s.State, before)
		}
		for r, was := range kept {
			if !reflect.DeepEqual(*r, was) {
				t.Fatalf("seed %d: a record that was handed out changed:\n%s", seed, cmp.Diff(was, *r))
			}
		}
	}
}

// checkIndexes checks the indexes of the tasks that are not over.
func checkIndexes(fail func(string, ...any), s *State) {
	active, inGroup, uses := map[string]map[string]bool{}, map[groupKey]map[string]bool{}, map[task.UploadKey]int{}
	for id, r := range records(s) {
		if r.Phase.Over() {
			continue
		}
		addTo(active, r.Submit.User, id)
		if r.Submit.Group != "" {
			addTo(inGroup, groupKey{r.Submit.User, r.Submit.Group}, id)
		}
		for _, sum := range r.Submit.Task.Sums() {
			uses[task.UploadKey{User: r.Submit.User, Sum: sum}]++
		}
	}
	for want, got := range map[any]any{&active: s.active, &inGroup: s.activeInGroup, &uses: s.uploadUses} {
		if w := reflect.ValueOf(want).Elem().Interface(); !reflect.DeepEqual(w, got) {
			fail("an index of the tasks that are not over is %v, want %v", got, w)
		}
	}
}

// checkHistory reports tasks that disappeared although they were not too old by both clocks
// and the history was not too large, and times that moved backwards.
func checkHistory(fail func(string, ...any), c task.Command, s *State, before map[string]*CompactRecord) {
	historySize, was := 0, 0
	for _, t := range s.Tasks {
		if t.InHistory() {
			historySize++
		}
	}
	used := map[idempotency]bool{}
	for _, k := range s.retired {
		if _, known := s.keys[k.idempotency]; !known || used[k.idempotency] {
			fail("key %+v is retired twice, or unknown", k)
		}
		used[k.idempotency] = true
	}
	if s.historySize != historySize {
		fail("the history counts %d tasks and has %d", s.historySize, historySize)
	}
	for _, t := range before {
		if t.InHistory() {
			was++
		}
	}
	f := c.ExpireHistory
	for id, t := range before {
		at := t.UpdatedAt()
		older := f != nil && !at.After(f.Then) && s.Time.Sub(at) >= f.Now.Sub(f.Then)
		ahead := f != nil && at.After(f.Now) && at.After(s.Time)
		switch is := s.Tasks[id]; {
		case is == nil && (f == nil || !t.CleanedUp() || !older && was <= f.Tasks):
			fail("task %s disappeared: %+v", id, t)
		case is != nil && is.UpdatedAt().Before(at) && !ahead:
			fail("the time of task %s went back from %s to %s", id, at, is.UpdatedAt())
		}
	}
}

// checkOutputs reports sizes of outputs that differ from those of the tasks, and outputs that have
// grown above the limit of the command that stored them.
func checkOutputs(fail func(string, ...any), c task.Command, s *State, before map[string]*CompactRecord) {
	size := map[string]int64{}
	for _, r := range records(s) {
		if bytes := outputs.Size(r.Outputs); bytes != 0 {
			size[r.Submit.User] += bytes
		}
	}
	if !reflect.DeepEqual(size, s.outputBytes) {
		fail("the outputs have %v bytes, and the users %v", size, s.outputBytes)
	}
	if f := c.OutputsStored; f != nil && f.Quota > 0 && s.Tasks[f.ID] != nil {
		is := s.Tasks[f.ID]
		if s.outputBytes[is.User()] > f.Quota && outputs.Size(is.Outputs()) > outputs.Size(before[f.ID].Outputs()) {
			fail("the outputs of user %s have grown above the limit", is.User())
		}
	}
}

// checkStep reports changes of a task that its command must not make.
func checkStep(fail func(string, ...any), c task.Command, was, is *task.Record) {
	user := ""
	switch {
	case c.Stop != nil:
		user = c.Stop.User
	case c.StopAll != nil && !c.StopAll.AllUsers:
		user = c.StopAll.User
	default:
		user = was.Submit.User
	}
	rank := map[task.Phase]int{task.Pending: 0, task.Running: 1, task.Completed: 2, task.Failed: 2, task.Stopped: 2}
	switch {
	case c.StopAll != nil && c.StopAll.Group != "" && c.StopAll.Group != was.Submit.Group && len(was.WaitsFor) == 0:
		fail("task %s of group %q was stopped with group %q", was.Submit.ID, was.Submit.Group, c.StopAll.Group)
	case c.StopAll != nil && c.StopAll.Filter != nil && is.Phase == task.Stopped && was.Submit.JobGroup == nil && !selects(*c.StopAll.Filter, compact(was)):
		fail("task %s was stopped by a stop whose filter does not select it", was.Submit.ID)
	case is.Submit.Group != was.Submit.Group:
		fail("task %s changed its group", was.Submit.ID)
	case user != was.Submit.User:
		fail("task %s of %q was changed by %q", was.Submit.ID, was.Submit.User, user)
	case is.Submit.User != was.Submit.User || is.Submit.ID != was.Submit.ID || is.Hash != was.Hash || is.Order != was.Order:
		fail("task %s became another", was.Submit.ID)
	case was.Phase.Over() && is.Phase != was.Phase:
		fail("task %s was %s and is %s", was.Submit.ID, was.Phase, is.Phase)
	case rank[is.Phase] < rank[was.Phase]:
		fail("task %s went from %s back to %s", was.Submit.ID, was.Phase, is.Phase)
	case was.Phase.Over() && !reflect.DeepEqual(is.UIDs, was.UIDs):
		fail("task %s was applied after its end", was.Submit.ID)
	case was.UIDs != nil && !reflect.DeepEqual(is.UIDs, was.UIDs):
		fail("task %s was applied twice", was.Submit.ID)
	case was.Admitted && !is.Admitted:
		fail("task %s is admitted no more", was.Submit.ID)
	case is.UIDs != nil && !is.Admitted:
		fail("task %s has Jobs and is not admitted", was.Submit.ID)
	case is.UIDs != nil && len(is.UIDs) != is.NumNodes():
		fail("task %s has %d nodes and %d UIDs", was.Submit.ID, is.NumNodes(), len(is.UIDs))
	}
}

// A panic in the fold would end every pod at every start.
func FuzzFold(f *testing.F) {
	g := generator{rand.New(rand.NewPCG(0, 4))}
	for range 32 {
		f.Add(text(g.command())+"\n"+text(g.command()), 1, "log", "w", uint64(1))
	}
	f.Fuzz(func(t *testing.T, commands string, version int, log, writer string, number uint64) {
		fold := func() (*State, []FoldResult) {
			s := New()
			e := task.Entry{Version: version, Log: log, Writer: writer, Number: number, Time: noon}
			for line := range strings.Lines(commands) {
				e.Commands = append(e.Commands, json.RawMessage(line))
			}
			return s, folded(s, append(begin(), e, e))
		}
		one, first := fold()
		other, second := fold()
		if !reflect.DeepEqual(plain(first), plain(second)) || one.Snapshot().Hash() != other.Snapshot().Hash() {
			t.Errorf("two folds came to two ends:\n%v\n%v", first, second)
		}
		if utf8.ValidString(log + writer) { // JSON ensures valid UTF-8
			if text := encoded(t, one.Snapshot()); encoded(t, decoded(t, text).Snapshot()) != text {
				t.Errorf("another state came out of the snapshot that went in:\n%s", text)
			}
		}
		for id, r := range records(one) {
			if r.Submit.ID != id || r.Phase.Over() == one.active[r.Submit.User][id] {
				t.Errorf("task %q: %+v", id, r)
			}
		}
	})
}

// begin returns a log with a task and a volume to which facts may refer.
func begin() []task.Entry {
	return []task.Entry{
		{Version: task.EntryVersion, Log: "log", Seq: 1, Time: noon},
		entry(2, "first", 1, submit("a", "0"), submit("a", "1"), applied(taskKey("1"), "u"), create("a", "0", "data")),
	}
}
