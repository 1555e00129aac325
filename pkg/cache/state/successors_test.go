package state

import (
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// comesAfter returns a submission that waits until these tasks complete.
func comesAfter(user, id string, refs ...string) task.Command {
	c := submit(user, id)
	c.Submit.After = refs
	return c
}

// comesAfterAny returns a submission that waits until these tasks end.
func comesAfterAny(user, id string, refs ...string) task.Command {
	c := submit(user, id)
	c.Submit.AfterAny = refs
	return c
}

func withKey(c task.Command, key string) task.Command {
	c.Submit.Key = key
	return c
}

// complete lets a task run to its end.
func (s *testState) complete(id string, p task.Phase) []task.Key {
	s.t.Helper()
	s.fold(admitted(task.JobLimits{}, id))
	s.fold(applied(taskKey(id), "uid"))
	_, changed := s.fold(ended(id, p))
	if got := s.Tasks[id].Phase(); got != p {
		s.t.Fatalf("task %s is %s, want %s", id, got, p)
	}
	return changed
}

func (s *testState) phases(ids ...string) string {
	s.t.Helper()
	all := make([]string, len(ids))
	for i, id := range ids {
		all[i] = string(s.Tasks[id].Phase())
	}
	return strings.Join(all, " ")
}

func TestATaskWaitsUntilItsPredecessorsComplete(t *testing.T) {
	w := newTestState(t, submit("ann", "a"), submit("ann", "b"), comesAfter("ann", "c", "a", "b"))
	if r := w.Tasks["c"].Record(); r.Reason != task.ReasonWaitsForTask || r.Message != "the task waits for the end of a, b" {
		t.Errorf("the task says %s: %s", r.Reason, r.Message)
	}
	if changed := w.complete("a", task.Completed); !slices.Contains(changed, taskKey("c")) {
		t.Errorf("the end of a changed %v, and not its successor", changed)
	}
	if result, _ := w.fold(admitted(task.JobLimits{}, "c")); result.Count != 0 {
		t.Error("the task is admitted before b completed")
	}
	if result, _ := w.fold(applied(taskKey("c"), "uid")); result.Rejection != task.RejectedStale {
		t.Error("the Jobs of the task are accepted before b completed")
	}
	if got := w.Tasks["c"].Record().Message; got != "the task waits for the end of b" {
		t.Errorf("the task says %q", got)
	}
	w.complete("b", task.Completed)
	if r := w.Tasks["c"].Record(); r.Reason != "" || w.Tasks["c"].Waits() {
		t.Errorf("the task still waits: %s: %s", r.Reason, r.Message)
	}
	if result, _ := w.fold(admitted(task.JobLimits{}, "c")); result.Count != 1 {
		t.Error("the task is not admitted")
	}
	if len(w.successors) != 0 {
		t.Errorf("successors are left: %v", w.successors)
	}
}

func TestAFailedPredecessorEndsTheChain(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(w *testState) []task.Key
		want string
	}{
		{"failed", func(w *testState) []task.Key { return w.complete("a", task.Failed) }, "task a, which had to complete first, failed"},
		{"stopped", func(w *testState) []task.Key { _, k := w.fold(stop("ann", "a")); return k }, "task a, which had to complete first, was stopped"},
		{"rejected", func(w *testState) []task.Key { _, k := w.fold(refused(taskKey("a"), "Invalid")); return k }, "task a, which had to complete first, failed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t, submit("ann", "a"), comesAfter("ann", "b", "a"), comesAfter("ann", "c", "b"), comesAfterAny("ann", "d", "b"))
			changed := tt.end(w)
			if got := w.phases("b", "c", "d"); got != "failed failed pending" {
				t.Errorf("the successors are %s", got)
			}
			if r := w.Tasks["b"].Record(); r.Reason != task.ReasonDependency || r.Message != tt.want || r.EndSeq != w.Seq {
				t.Errorf("b says %s: %s", r.Reason, r.Message)
			}
			if want := []task.Key{taskKey("a"), taskKey("b"), taskKey("c"), taskKey("d")}; !reflect.DeepEqual(changed, want) {
				t.Errorf("the end of a changed %v, want %v", changed, want)
			}
			if w.Tasks["d"].Waits() || w.Active("ann") != 1 || len(w.successors) != 0 {
				t.Errorf("d waits: %t; %d tasks are active; successors %v", w.Tasks["d"].Waits(), w.Active("ann"), w.successors)
			}
		})
	}
}

func TestPredecessorsThatAreOver(t *testing.T) {
	w := newTestState(t, submit("ann", "good"), submit("ann", "bad"))
	w.complete("good", task.Completed)
	w.complete("bad", task.Failed)
	for _, tt := range []struct {
		c     task.Command
		phase task.Phase
	}{
		{comesAfter("ann", "1", "good"), task.Pending},
		{comesAfter("ann", "2", "good", "bad"), task.Failed},
		{comesAfterAny("ann", "3", "bad"), task.Pending},
	} {
		if result, _ := w.fold(tt.c); result.Rejection != "" {
			t.Fatalf("%s is rejected: %s", text(tt.c), result.Rejection)
		}
		if got := w.Tasks[tt.c.Submit.ID]; got.Phase() != tt.phase || got.Waits() {
			t.Errorf("%s is %s, waits %t", text(tt.c), got.Phase(), got.Waits())
		}
	}
}

func TestPredecessorsAreNamedByIDOrKey(t *testing.T) {
	w := newTestState(t, withKey(submit("ann", "a"), "first"), submit("bob", "b"))
	for _, tt := range []struct{ ref, missing string }{{"a", ""}, {"first", ""}, {"b", "b"}, {"nothing", "nothing"}, {"again", "again"}} {
		result, _ := w.fold(withKey(comesAfter("ann", "id-"+tt.ref, tt.ref), "again"))
		if result.Missing != tt.missing || (result.Rejection == task.RejectedPredecessor) != (tt.missing != "") {
			t.Errorf("after %s: %+v", tt.ref, result)
		}
		if tt.missing == "" {
			w.fold(stop("ann", "id-"+tt.ref))
		}
		delete(w.keys, idempotency{task.KindTask, "ann", "again"})
	}
}

func TestARejectedSubmissionMayBeRepeatedWithItsKey(t *testing.T) {
	w := newTestState(t, withKey(comesAfter("ann", "a", "later"), "k"), withKey(submit("ann", "b"), "later"))
	if result, _ := w.fold(withKey(comesAfter("ann", "c", "later"), "k")); result.Rejection != "" || result.ID != "c" {
		t.Errorf("the repeated submission has the result %+v", result)
	}
	if result, _ := w.fold(withKey(submit("ann", "d"), "k")); result.Rejection != task.RejectedKeyReuse {
		t.Errorf("the same key without predecessors has the result %+v", result)
	}
}

func TestStopAllStopsWaitingTasksToo(t *testing.T) {
	w := newTestState(t, submit("ann", "z"), comesAfter("ann", "b", "z"), comesAfter("ann", "a", "b"))
	if result, _ := w.fold(stopAll("ann")); result.Count != 3 {
		t.Errorf("%d tasks are stopped", result.Count)
	}
	if got := w.phases("z", "b", "a"); got != "stopped stopped stopped" || len(w.successors) != 0 {
		t.Errorf("the tasks are %s, with successors %v", got, w.successors)
	}
}

func TestSubmissionsTogetherAreAtomic(t *testing.T) {
	chain := func(last task.Command) []task.Command {
		all := []task.Command{withKey(submit("ann", "1"), "x"), withKey(comesAfter("ann", "2", "x"), "y"), last}
		for _, c := range all {
			c.Submit.Together = 0
		}
		all[0].Submit.Together = len(all)
		return all
	}
	for _, tt := range []struct {
		name string
		last task.Command
		want []task.Result // nil if all are accepted
	}{
		{"accepted", comesAfter("ann", "3", "y", "2"), nil},
		{"an id twice", submit("ann", "1"), []task.Result{{Rejection: task.RejectedTogether}, {Rejection: task.RejectedTogether}, {ID: "1", Rejection: task.RejectedIDExists}}},
		{"a key twice", withKey(submit("ann", "3"), "x"), []task.Result{{Rejection: task.RejectedTogether}, {Rejection: task.RejectedTogether}, {ID: "1", Rejection: task.RejectedKeyReuse}}},
		{"an unknown predecessor", comesAfter("ann", "3", "z"), []task.Result{{Rejection: task.RejectedTogether}, {Rejection: task.RejectedTogether}, {ID: "3", Rejection: task.RejectedPredecessor, Field: "after", Missing: "z"}}},
		{"another command", stopAll("ann"), []task.Result{{Rejection: task.RejectedTogether}, {Rejection: task.RejectedTogether}, {Rejection: task.RejectedUnknownWriter}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t, submit("ann", "0"))
			all := []task.Command{withKey(submit("ann", "1"), "x"), withKey(comesAfter("ann", "2", "x"), "y"), tt.last}
			if tt.last.Submit != nil {
				all = chain(tt.last)
			} else {
				all[0].Submit.Together = 3
			}
			all = append(all, stop("ann", "0"))
			got := w.foldTogether(all...)
			if got.Results[3].Rejection != "" || w.phases("0") != "stopped" {
				t.Errorf("the command behind them has the result %+v", got.Results[3])
			}
			if tt.want != nil {
				if diff := cmp.Diff(tt.want, got.Results[:3]); diff != "" || len(w.Tasks) != 1 || len(w.keys) != 0 {
					t.Errorf("%d tasks, %d keys, results (-want +got):\n%s", len(w.Tasks), len(w.keys), diff)
				}
				return
			}
			if !w.Tasks["2"].Waits() || !w.Tasks["3"].Waits() || w.Tasks["1"].Record().Submit.Together != 0 {
				t.Errorf("results %+v, tasks %v", got.Results, w.Tasks)
			}
			w.complete("1", task.Completed)
			w.complete("2", task.Completed)
			if w.Tasks["3"].Waits() {
				t.Error("the last task still waits")
			}
		})
	}
}

// An idempotency key outlives its task. No task can come after a task that has left the history, so
// submissions that are accepted all or not at all are then rejected, all of them.
func TestSubmissionsTogetherAfterAnExpiredTask(t *testing.T) {
	w := newTestState(t, withKey(submit("ann", "a"), "ka"), stop("ann", "a"), gone(taskKey("a")))
	w.expireAt(w.Time, 0, "a")
	again := withKey(submit("ann", "a2"), "ka")
	again.Submit.Together = 4
	r := w.foldTogether(again, withKey(comesAfter("ann", "b", "ka"), "kb"), submit("ann", "c"), comesAfter("ann", "d", "kb"))
	for i, want := range []task.Rejection{task.RejectedTogether, task.RejectedPredecessor, task.RejectedTogether, task.RejectedTogether} {
		if got := r.Results[i].Rejection; got != want {
			t.Errorf("submission %d: %q, want %q", i, got, want)
		}
	}
	if len(w.Tasks) != 0 {
		t.Errorf("%d tasks were stored", len(w.Tasks))
	}
	again.Submit.Together = 2
	r = w.foldTogether(again, submit("ann", "c"), stop("ann", "c"))
	if r.Results[0].ID != "a" || r.Results[0].Rejection != "" || r.Results[1].Rejection != "" || w.phases("c") != "stopped" {
		t.Errorf("a repeated submission and a new one: %+v", r.Results)
	}
}

func TestAChainGoesOnAfterASnapshot(t *testing.T) {
	w := newTestState(t, submit("ann", "a"), comesAfter("ann", "b", "a"), comesAfterAny("ann", "c", "a", "b"))
	again := &testState{State: decoded(t, encoded(t, w.Snapshot())), t: t, number: w.number}
	for _, s := range []*testState{w, again} {
		s.complete("a", task.Failed)
		if got := s.phases("b", "c"); got != "failed pending" || s.Tasks["c"].Waits() {
			t.Errorf("the successors are %s", got)
		}
	}
	if w.Snapshot().Hash() != again.Snapshot().Hash() {
		t.Error("the state differs after a snapshot")
	}
}

// A pod of this release must stop at a command of a newer release, also behind the first of
// several submissions together.
func TestAnUnknownSubmissionTogetherStopsTheFold(t *testing.T) {
	w := newTestState(t)
	first := submit("ann", "1")
	first.Submit.Together = 2
	e := entry(w.Seq+1, "writer", 1, first)
	e.Commands = append(e.Commands, []byte(`{"submit":{"id":"2","user":"ann","task":{"run":"true"},"image":"i","new":1}}`))
	if r := w.Fold(e); r.Unknown == nil {
		t.Errorf("the fold went on: %+v", r)
	}
}

func TestALongChainEndsWithItsFirstTask(t *testing.T) {
	const length = 20_000
	w := newTestState(t, submit("ann", "0"))
	for i := 1; i < length; i++ {
		w.fold(comesAfter("ann", strconv.Itoa(i), strconv.Itoa(i-1)))
	}
	old := debug.SetMaxStack(1 << 20)
	defer debug.SetMaxStack(old)
	_, changed := w.fold(stop("ann", "0"))
	if len(changed) != length || w.phases("1", strconv.Itoa(length-1)) != "failed failed" {
		t.Errorf("%d tasks changed; the last one is %s", len(changed), w.phases(strconv.Itoa(length-1)))
	}
}
