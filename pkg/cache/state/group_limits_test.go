package state

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

// limitedTo returns a submission to group g of ann that waits while limit tasks are active.
func limitedTo(limit int, id string) task.Command {
	c := submitTo("g", "ann", id)
	c.Submit.MaxParallel = limit
	return c
}

func failsFast(id string) task.Command {
	c := submitTo("g", "ann", id)
	c.Submit.FailFast = true
	return c
}

func prioritized(c task.Command, priority int) task.Command {
	c.Submit.Task.Resources.Priority = priority
	return c
}

// heldIDs returns the ids of the held tasks, of one letter each.
func (s *testState) heldIDs() string {
	var ids strings.Builder
	for _, id := range strings.Fields("a b c d e") {
		if t := s.Tasks[id]; t != nil && t.Held() {
			ids.WriteString(id)
		}
	}
	return ids.String()
}

func TestAGroupKeepsItsMaxParallel(t *testing.T) {
	run := func(id string) []task.Command {
		return history(admitted(task.JobLimits{}, id), applied(taskKey(id), "u"), started(id))
	}
	for _, tt := range []struct {
		name string
		then []task.Command
		want string
	}{
		{"two at once", nil, "cde"},
		{"tasks that run take their places", append(run("a"), run("b")...), "cde"},
		{"a completed task makes place for the first one", append(run("a"), ended("a", task.Completed)), "de"},
		{"a failed task makes place", append(run("a"), ended("a", task.Failed)), "de"},
		{"a task that was rejected without Jobs makes place", history(refused(taskKey("b"), "Invalid")), "de"},
		{"a task that may have Jobs when it is rejected takes its place until the Jobs are gone", history(admitted(task.JobLimits{}, "b"), refused(taskKey("b"), "Invalid")), "cde"},
		{"a task that is stopped before it has Jobs makes place", history(stop("ann", "a")), "de"},
		{"a stopped task takes its place while it has Jobs", append(run("a"), stop("ann", "a")), "cde"},
		{"a stopped task makes place when its Jobs are gone", append(run("a"), stop("ann", "a"), gone(taskKey("a"))), "de"},
		{"a held task that is stopped makes no place", history(stop("ann", "c")), "de"},
		{"held tasks that were stopped are passed over", history(stop("ann", "c"), stop("ann", "a")), "e"},
		{"several ends make several places", history(stop("ann", "a"), stop("ann", "b")), "e"},
		{"a stop of the group leaves none", history(stopGroup("ann", "g")), ""},
		{"the Jobs of a held task are not accepted", run("d"), "cde"},
		{"a larger limit of a later task", history(prioritized(limitedTo(4, "f"), 0)), "cde"},
		{"a stop of the first held task makes room for a task with a larger limit", history(stop("ann", "d"), stop("ann", "e"), limitedTo(3, "e"), stop("ann", "c")), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t, limitedTo(2, "a"), limitedTo(2, "b"), limitedTo(2, "c"), limitedTo(2, "d"), limitedTo(2, "e"))
			for _, c := range tt.then {
				w.fold(c)
			}
			if got := w.heldIDs(); got != tt.want {
				t.Errorf("%q are held, want %q", got, tt.want)
			}
			again := decoded(t, encoded(t, w.Snapshot()))
			w.State = again
			w.fold(stop("ann", "a"))
			w.fold(gone(taskKey("a")))
			if got := w.heldIDs(); len(got) > len(tt.want) {
				t.Errorf("after a snapshot %q are held, before %q", got, tt.want)
			}
		})
	}
}

// A task says why it is held, and which tasks an end changed.
func TestAHeldTaskExplainsItsWait(t *testing.T) {
	w := newTestState(t, limitedTo(1, "a"), limitedTo(1, "b"), prioritized(limitedTo(1, "c"), 5), submit("ann", "d"))
	if r := w.Tasks["b"].Record(); r.Reason != task.ReasonGroupLimit || r.Message != "the task waits until no task of group g is active" {
		t.Errorf("%s: %s", r.Reason, r.Message)
	}
	if result, _ := w.fold(admitted(task.JobLimits{}, "b", "d")); result.Count != 1 || w.Tasks["b"].Admitted() {
		t.Error("a held task was admitted, or held another task back")
	}
	_, changed := w.fold(stop("ann", "a"))
	if want := []task.Key{taskKey("a"), taskKey("c")}; !reflect.DeepEqual(changed, want) {
		t.Errorf("changed %v, want %v: the highest priority goes first", changed, want)
	}
	if r := w.Tasks["c"].Record(); r.Held || r.Reason != "" || r.Message != "" {
		t.Errorf("after its release: %+v", r)
	}
}

// A task that comes after other tasks takes a place in its group only when they have ended.
func TestATaskOfAGroupWaitsForItsPredecessorsFirst(t *testing.T) {
	after := limitedTo(1, "b")
	after.Submit.After = []string{"d"}
	w := newTestState(t, submit("ann", "d"), limitedTo(1, "a"), after, limitedTo(1, "c"))
	if got := w.heldIDs(); got != "c" {
		t.Errorf("%q are held, want c: b waits for d", got)
	}
	w.complete("d", task.Completed)
	if got := w.heldIDs(); got != "bc" {
		t.Errorf("%q are held, want b and c", got)
	}
	w.complete("a", task.Completed)
	if got := w.heldIDs(); got != "c" {
		t.Errorf("%q are held, want c: b was submitted first", got)
	}
}

func TestAGroupFailsFast(t *testing.T) {
	w := newTestState(t, failsFast("a"), failsFast("b"), limitedTo(2, "c"), submitTo("h", "ann", "d"), submitTo("g", "bob", "e"), comesAfter("ann", "f", "c"))
	w.fold(admitted(task.JobLimits{}, "b"))
	changed := w.complete("a", task.Failed)
	if want := []task.Key{taskKey("a"), taskKey("f"), taskKey("b"), taskKey("c")}; !reflect.DeepEqual(changed, want) {
		t.Errorf("changed %v, want %v", changed, want)
	}
	if got, want := w.phases("a", "b", "c", "d", "e", "f"), "failed stopped stopped pending pending failed"; got != want {
		t.Errorf("phases %s, want %s", got, want)
	}
	if r := w.Tasks["b"].Record(); r.Reason != task.ReasonGroupFailed || r.Message != "task a of group g failed" {
		t.Errorf("%s: %s", r.Reason, r.Message)
	}
	w.fold(submitTo("g", "ann", "later"))
	if got := w.phases("later"); got != string(task.Pending) {
		t.Errorf("a later task of the group is %s", got)
	}
	for _, p := range []task.Phase{task.Completed, task.Stopped} {
		w := newTestState(t, failsFast("a"), failsFast("b"))
		if p == task.Stopped {
			w.fold(stop("ann", "a"))
		} else {
			w.complete("a", p)
		}
		if got := w.phases("b"); got != string(task.Pending) {
			t.Errorf("after a task was %s, another one of the group is %s", p, got)
		}
	}
}

// tidy removes the tasks that are no longer held from the queues of the groups.
func tidy(s *State) {
	for _, g := range s.groups {
		live := slices.DeleteFunc(slices.Clone(g.queue), func(h heldTask) bool { t := s.Tasks[h.id]; return t == nil || !t.Held() })
		slices.SortFunc(live, func(a, b heldTask) int { return a.turn.Compare(b.turn) })
		g.queue = nil
		if len(live) > 0 {
			g.queue = live
		}
	}
}

// recountGroups returns the groups with their counts, as they follow from the records.
func recountGroups(s *State) map[groupKey]string {
	counts := map[groupKey][2]int{}
	for _, t := range s.Tasks {
		k := groupKey{t.User(), t.Group()}
		n := counts[k]
		switch {
		case k.name == "":
			continue
		case t.Held():
			n[1]++
		case t.takesPlaceInGroup():
			n[0]++
		default:
			continue
		}
		counts[k] = n
	}
	all := map[groupKey]string{}
	for k, n := range counts {
		all[k] = fmt.Sprint(n[0], n[1])
	}
	return all
}

// After every command, the counts of the groups follow from the records, no group exceeds the
// limit of its tasks, and no task is held for which there is a place.
func TestGroupsAreCountedAsTheRecordsSay(t *testing.T) {
	most := 0
	for seed := range seeds(150) {
		g := generator{rand.New(rand.NewPCG(seed, 9))}
		s, limit := newTestState(t), 1+int(seed%3)
		for range 300 {
			c := g.command()
			if c.Submit != nil && c.Submit.Group != "" {
				c.Submit.MaxParallel = limit
			}
			s.fold(c)
			want, got := recountGroups(s.State), map[groupKey]string{}
			for k, of := range s.groups {
				got[k] = fmt.Sprint(of.active, of.held)
				most = max(most, of.held)
				if of.active > limit || of.held > 0 && of.active < limit {
					t.Fatalf("seed %d: after %s a group has %d active and %d held tasks, at most %d", seed, text(c), of.active, of.held, limit)
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("seed %d: after %s the groups are %v, want %v", seed, text(c), got, want)
			}
			if len(s.vacated)+len(s.failedFast) > 0 {
				t.Fatalf("seed %d: after %s work is left: %v, %v", seed, text(c), s.vacated, s.failedFast)
			}
		}
	}
	if most < 2 && !testing.Short() {
		t.Errorf("at most %d tasks of a group were held", most)
	}
}
