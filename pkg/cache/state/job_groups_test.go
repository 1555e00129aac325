package state

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

// jobGroupOf returns the submissions of a job group of user with these tasks. The id of a task that
// is auxiliary begins with x; delay is in seconds.
func jobGroupOf(user string, delay int, ids ...string) []task.Command {
	all := make([]task.Command, len(ids))
	for i, id := range ids {
		all[i] = submitNodes(user, id, i+1)
		all[i].Submit.Task.Name = "name-" + id
		all[i].Submit.JobGroup = &task.JobGroup{
			ID: ids[0], Name: "rlhf", Index: i, Tasks: len(ids), Jobs: len(ids) * (len(ids) + 1) / 2,
			Primary: !strings.HasPrefix(id, "x"), Delay: delay,
		}
	}
	all[0].Submit.Together = len(ids)
	return all
}

// uidsOf returns as many UIDs as the task has nodes.
func (s *testState) uidsOf(id string) []string {
	uids := make([]string, s.Tasks[id].NumNodes())
	for i := range uids {
		uids[i] = fmt.Sprint(id, i)
	}
	return uids
}

// startJobGroup folds the start of a job group as the controller does, the first task last.
func (s *testState) startJobGroup(ids ...string) {
	s.t.Helper()
	s.fold(admitted(task.JobLimits{}, ids[0]))
	for _, id := range slices.Backward(ids) {
		if r, _ := s.fold(applied(taskKey(id), s.uidsOf(id)...)); r.Rejection != "" {
			s.t.Fatalf("the Jobs of %s are rejected: %s", id, r.Rejection)
		}
	}
}

// A job group is admitted as a whole, with the Jobs of all its tasks.
func TestAJobGroupIsAdmittedAsAWhole(t *testing.T) {
	w := newTestState(t)
	w.foldTogether(jobGroupOf("ann", 0, "a", "b", "xc")...)
	if r := w.Tasks["b"].Record(); r.Reason != task.ReasonJobGroup || r.Message != "the task starts together with task a of job group rlhf" {
		t.Errorf("a task that follows says %s: %s", r.Reason, r.Message)
	}
	if got := w.JobGroup("a"); !slices.Equal(got, []string{"a", "b", "xc"}) || w.Tasks["a"].JobsToAdmit() != 6 || w.Tasks["b"].JobsToAdmit() != 2 {
		t.Errorf("tasks %q, %d Jobs", got, w.Tasks["a"].JobsToAdmit())
	}
	for _, tt := range []struct {
		limits task.JobLimits
		id     string
	}{{task.JobLimits{Total: 5}, "a"}, {task.JobLimits{PerUser: 5}, "a"}, {task.JobLimits{}, "b"}, {task.JobLimits{}, "xc"}} {
		if r, _ := w.fold(admitted(tt.limits, tt.id)); r.Count != 0 || w.Jobs() != 0 {
			t.Errorf("%+v: %d tasks are admitted by %s", tt.limits, r.Count, tt.id)
		}
	}
	if r, _ := w.fold(applied(taskKey("b"), "u", "v")); r.Rejection != task.RejectedStale {
		t.Error("the Jobs of a task that is not admitted are accepted")
	}
	_, changed := w.fold(admitted(task.JobLimits{Total: 6, PerUser: 6}, "a"))
	if want := []task.Key{taskKey("a"), taskKey("b"), taskKey("xc")}; !slices.Equal(changed, want) || w.Jobs() != 6 || w.JobsOf("ann") != 6 {
		t.Errorf("changed %v, want %v; %d Jobs", changed, want, w.Jobs())
	}
	w.fold(delayed(taskKey("a"), "QuotaExceeded"))
	for _, id := range []string{"a", "b", "xc"} {
		if got := w.Tasks[id].Reason(); got != "QuotaExceeded" {
			t.Errorf("task %s says %q", id, got)
		}
	}
}

func TestEndsOfAJobGroup(t *testing.T) {
	end := func(id string, p task.Phase) func(*testState) { return func(w *testState) { w.fold(ended(id, p)) } }
	stops := func(id string) func(*testState) { return func(w *testState) { w.fold(stop("ann", id)) } }
	for _, tt := range []struct {
		name    string
		started bool
		delay   int
		then    []func(*testState)
		want    string // phases of the primary tasks a and b, and of the auxiliary task x
		why     string // reason and message of x, or of b if x is pending
	}{
		{"a primary task completed", true, 0, []func(*testState){end("a", task.Completed)}, "completed pending pending", ""},
		{"all primary tasks completed", true, 0, []func(*testState){end("a", task.Completed), end("b", task.Completed)}, "completed completed completed", "PrimaryTasksCompleted: the primary tasks of job group rlhf have completed"},
		{"all primary tasks completed, with a delay", true, 90, []func(*testState){end("a", task.Completed), end("b", task.Completed)}, "completed completed pending", "PrimaryTasksCompleted: the primary tasks of job group rlhf have completed; this task ends after its termination_delay of 1m30s"},
		{"the auxiliary task completed first", true, 90, []func(*testState){end("x", task.Completed), end("b", task.Completed)}, "pending completed completed", "end: "},
		{"a primary task failed", true, 90, []func(*testState){end("b", task.Failed)}, "stopped failed stopped", "JobGroupFailed: task b (name-b) of job group rlhf failed"},
		{"a primary task was stopped", true, 90, []func(*testState){stops("a")}, "stopped stopped stopped", "JobGroupFailed: task a (name-a) of job group rlhf was stopped"},
		{"the auxiliary task failed", true, 0, []func(*testState){end("x", task.Failed)}, "pending pending failed", "end: "},
		{"the auxiliary task was stopped", true, 0, []func(*testState){stops("x"), end("a", task.Completed), end("b", task.Completed)}, "completed completed stopped", ": "},
		{"the auxiliary task was stopped before the start", false, 0, []func(*testState){stops("x")}, "stopped stopped stopped", ": "},
		{"the auxiliary task was stopped when only its Jobs existed", false, 0, []func(*testState){func(w *testState) {
			w.fold(admitted(task.JobLimits{}, "a"))
			w.fold(applied(taskKey("x"), w.uidsOf("x")...))
			w.fold(stop("ann", "x"))
		}}, "stopped stopped stopped", ": "},
		{"a task was rejected before the start", false, 0, []func(*testState){func(w *testState) { w.fold(refused(taskKey("x"), "Invalid")) }}, "stopped stopped failed", "Invalid: because"},
		{"the group was stopped", true, 0, []func(*testState){func(w *testState) { w.fold(stopAll("ann")) }}, "stopped stopped stopped", ": "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t, submit("ann", "other"))
			w.foldTogether(jobGroupOf("ann", tt.delay, "a", "b", "x")...)
			w.foldTogether(jobGroupOf("ann", tt.delay, "c", "d")...)
			if tt.started {
				w.startJobGroup("a", "b", "x")
			}
			for _, do := range tt.then {
				w.State = decoded(t, encoded(t, w.Snapshot()))
				do(w)
			}
			if got := w.phases("a", "b", "x"); got != tt.want {
				t.Errorf("phases %s, want %s", got, tt.want)
			}
			if r := w.Tasks["x"].Record(); tt.why != "" && r.Reason+": "+r.Message != tt.why {
				t.Errorf("x says %s: %s; want %s", r.Reason, r.Message, tt.why)
			}
			if tt.name != "the group was stopped" && w.phases("c", "d", "other") != "pending pending pending" {
				t.Errorf("other tasks are %s", w.phases("c", "d", "other"))
			}
		})
	}
}

// The controller ends an auxiliary task, but not before the delay has passed in log time.
func TestAnAuxiliaryTaskEndsAfterItsDelay(t *testing.T) {
	w := newTestState(t)
	w.foldTogether(jobGroupOf("ann", 5, "a", "x")...)
	w.startJobGroup("a", "x")
	_, changed := w.fold(ended("a", task.Completed))
	r := w.Tasks["x"].Record()
	if want := w.Time.Add(5 * time.Second); !r.StopAt.Equal(want) || !slices.Equal(changed, []task.Key{taskKey("a"), taskKey("x")}) {
		t.Errorf("the task ends at %s, want %s; changed %v", r.StopAt, want, changed)
	}
	if _, changed := w.fold(gone(taskKey("a"))); len(changed) != 1 || !w.Tasks["x"].Record().StopAt.Equal(r.StopAt) {
		t.Error("a later command moved the end")
	}
	over := ended("x", task.Completed)
	over.Ended.NotBefore = r.StopAt
	for range 3 {
		if result, _ := w.fold(over); result.Rejection != task.RejectedEarly {
			t.Fatalf("at %s: %+v", w.Time, result)
		}
	}
	if result, _ := w.fold(over); result.Rejection != "" || w.phases("x") != "completed" || !w.Tasks["x"].Record().StopAt.IsZero() {
		t.Errorf("at %s: %+v, the task is %s", w.Time, result, w.phases("x"))
	}
}

// A repeated batch has the results of the first one, and a part of a job group is not accepted.
func TestABatchWithAJobGroupIsRepeated(t *testing.T) {
	keyed := func(ids ...string) []task.Command {
		all := jobGroupOf("ann", 0, ids...)
		for i := range all {
			all[i] = withKey(all[i], fmt.Sprint("k/", i))
			all[i].Submit.Task.Name = fmt.Sprint("t", i)
		}
		return all
	}
	w := newTestState(t)
	first := w.foldTogether(keyed("a", "b")...)
	again := w.foldTogether(keyed("c", "d")...)
	if !slices.EqualFunc(first.Results, again.Results, func(a, b task.Result) bool { return a.ID == b.ID && b.Rejection == "" }) || len(w.Tasks) != 2 {
		t.Errorf("results %+v, then %+v", first.Results, again.Results)
	}
	if r := w.foldTogether(keyed("e", "f", "g")...); r.Results[0].Rejection != task.RejectedKeyReuse || len(w.Tasks) != 2 {
		t.Errorf("a longer batch with the same keys: %+v", r.Results)
	}
	for i, key := range []string{"k/0", "k/1"} { // one task is repeated and one is new
		mixed := keyed("l", "m")
		mixed[1-i].Submit.Key = "other"
		if mixed[i].Submit.Key != key {
			t.Fatalf("task %d has key %s", i, mixed[i].Submit.Key)
		}
		if r := w.foldTogether(mixed...); r.Results[1].Rejection != task.RejectedKeyReuse || len(w.Tasks) != 2 {
			t.Errorf("with the key %s of an earlier batch: %+v", key, r.Results)
		}
	}
	lost := jobGroupOf("ann", 0, "h", "i")[1]
	if r, _ := w.fold(lost); r.Rejection != task.RejectedUnknownWriter {
		t.Errorf("a task without the first one of its job group: %+v", r)
	}
}

// Whatever happens, a job group has Jobs as a whole or not at all, a primary task that does not
// complete ends the others, and the auxiliary tasks do not outlive the primary ones.
func TestRandomJobGroups(t *testing.T) {
	ends := map[string]int{}
	for seed := range seeds(300) {
		r := rand.New(rand.NewPCG(seed, 11))
		w := newTestState(t)
		ids := []string{"a", "b", "xc", "xd"}[:2+r.IntN(3)]
		delay := r.IntN(3)
		w.foldTogether(jobGroupOf("ann", delay, ids...)...)
		for range 40 {
			id := ids[r.IntN(len(ids))]
			switch r.IntN(9) {
			case 0, 1:
				w.fold(admitted(task.JobLimits{Total: r.IntN(20)}, ids...))
			case 2, 3:
				if lead := w.Tasks[ids[0]]; lead.Admitted() && id != ids[0] || !slices.ContainsFunc(ids[1:], func(id string) bool { return !w.Tasks[id].Applied() }) {
					w.fold(applied(taskKey(id), w.uidsOf(id)...))
				}
			case 4, 5:
				if w.Tasks[ids[0]].Applied() {
					w.fold(ended(id, []task.Phase{task.Completed, task.Completed, task.Failed}[r.IntN(3)]))
				}
			case 6:
				if r.IntN(10) == 0 {
					w.fold(stop("ann", id))
				}
			case 7:
				if r.IntN(10) == 0 {
					w.fold(refused(taskKey(id), "Invalid"))
				}
			case 8:
				if at := w.Tasks[id].Record().StopAt; !at.IsZero() {
					c := ended(id, task.Completed)
					c.Ended.NotBefore = at
					w.fold(c)
				}
				w.State = decoded(t, encoded(t, w.Snapshot()))
			}
			checkJobGroup(t, w, seed, delay, ids)
		}
		ends[w.phases(ids...)]++
	}
	if len(ends) < 10 {
		t.Errorf("only these ends were tried: %v", ends)
	}
}

func checkJobGroup(t *testing.T, w *testState, seed uint64, delay int, ids []string) {
	t.Helper()
	admitted, failed, waiting := 0, false, 0
	for _, id := range ids {
		c := w.Tasks[id]
		if c.Admitted() {
			admitted++
		}
		if c.JobGroup().Primary {
			failed = failed || c.Phase().Over() && c.Phase() != task.Completed
			if !c.Phase().Over() {
				waiting++
			}
		}
	}
	if admitted != 0 && admitted != len(ids) {
		t.Fatalf("seed %d: %d of %d tasks are admitted", seed, admitted, len(ids))
	}
	for _, id := range ids {
		c := w.Tasks[id]
		over, stopAt := c.Phase().Over(), c.Record().StopAt
		switch {
		case failed && !over:
			t.Fatalf("seed %d: %s is %s, and a primary task did not complete: %s", seed, id, c.Phase(), w.phases(ids...))
		case waiting == 0 && !over && (delay == 0 || stopAt.IsZero()):
			t.Fatalf("seed %d: %s is %s without an end, and all primary tasks have completed", seed, id, c.Phase())
		case waiting > 0 && !stopAt.IsZero():
			t.Fatalf("seed %d: %s ends at %s, and %d primary tasks are not over", seed, id, stopAt, waiting)
		}
	}
	if len(w.leftJobGroup) > 0 {
		t.Fatalf("seed %d: work is left: %v", seed, w.leftJobGroup)
	}
}
