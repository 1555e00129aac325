package state

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func admitted(l task.JobLimits, ids ...string) task.Command {
	return task.Command{Admitted: &task.Admitted{IDs: ids, Limits: l}}
}

// admittedIDs returns the ids of the admitted tasks, of one letter each, in order.
func admittedIDs(s *State) string {
	var ids strings.Builder
	for _, id := range strings.Fields("a b c d e") {
		if t := s.Tasks[id]; t != nil && t.Admitted() {
			ids.WriteString(id)
		}
	}
	return ids.String()
}

func TestAdmissionStaysWithinItsLimits(t *testing.T) {
	limits := func(total, perUser int) task.JobLimits { return task.JobLimits{Total: total, PerUser: perUser} }
	for _, tt := range []struct {
		name    string
		history []task.Command
		then    []task.Command
		want    string // ids of the tasks that are admitted afterwards
		jobs    int
	}{
		{"without limits all are admitted", nil, history(admitted(limits(0, 0), "a", "b", "c", "d", "e")), "abcde", 9},
		{"the total stops all that follows", nil, history(admitted(limits(4, 0), "a", "c", "b")), "a", 1},
		{"several nodes count whole", nil, history(admitted(limits(4, 0), "c")), "c", 4},
		{"in the order of the fact", nil, history(admitted(limits(2, 0), "e", "b", "a")), "be", 2},
		{"a limit of its user holds back no other user", nil, history(admitted(limits(0, 1), "a", "b", "e", "d")), "ae", 2},
		{"too large for its user, and a smaller one behind it", nil, history(admitted(limits(0, 3), "c", "a")), "a", 1},
		{"what exists counts", history(admitted(limits(0, 0), "a", "b")), history(admitted(limits(3, 0), "e", "d")), "abe", 3},
		{"two leaders that overlap stay below it together", history(admitted(limits(2, 0), "a", "b")), history(admitted(limits(2, 0), "b", "e")), "ab", 2},
		{"twice is once", nil, history(admitted(limits(0, 0), "a", "a"), admitted(limits(0, 0), "a")), "a", 1},
		{"nobody is admitted after a stop", history(stop("ann", "a")), history(admitted(limits(0, 0), "a", "b")), "b", 1},
		{"nobody is admitted who is not there", nil, history(admitted(limits(0, 0), "x", "b")), "b", 1},
		{"a stop keeps the place", history(admitted(limits(0, 0), "a"), stop("ann", "a")), nil, "a", 1},
		{"what is gone frees it", history(admitted(limits(0, 0), "c"), stop("ann", "c"), gone(taskKey("c"))), history(admitted(limits(1, 0), "b")), "bc", 1},
		{"finished Jobs that are kept count", history(admitted(limits(0, 0), "a"), applied(taskKey("a"), "u"), ended("a", task.Completed)), history(admitted(limits(1, 0), "b")), "a", 1},
		{"Jobs that exist count", history(applied(taskKey("a"), "u")), history(admitted(limits(1, 0), "b")), "a", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, submit("ann", "a"), submit("ann", "b"), submitNodes("ann", "c", 4), submitNodes("bob", "d", 2), submit("bob", "e"))
			for _, c := range append(tt.history, tt.then...) {
				s.fold(c)
			}
			if got := admittedIDs(s.State); got != tt.want || s.Jobs() != tt.jobs {
				t.Errorf("%q are admitted with %d Jobs, want %q with %d", got, s.Jobs(), tt.want, tt.jobs)
			}
		})
	}
}

func TestAdmissionReturnsTheChangedTasks(t *testing.T) {
	s := newTestState(t, submit("ann", "a"), submit("ann", "b"), submit("ann", "c"))
	result, changed := s.fold(admitted(task.JobLimits{Total: 2}, "b", "x", "a", "c"))
	if diff := cmp.Diff([]task.Key{taskKey("b"), taskKey("a")}, changed); diff != "" || result.Count != 2 || result.Rejection != "" {
		t.Errorf("verdict %+v, changed (-want +got):\n%s", result, diff)
	}
	for id, want := range map[string]bool{"a": true, "b": true, "c": false} {
		if got := s.Tasks[id].Record().Admitted; got != want {
			t.Errorf("task %s is admitted: %t, want %t", id, got, want)
		}
	}
}

func TestAdoptedTasksAreAdmitted(t *testing.T) {
	s := newTestState(t, task.Command{Adopted: &task.Adopted{Submit: submitNodes("ann", "a", 2).Submit, Hash: "hash", CreatedAt: noon, UIDs: []string{"u", ""}}})
	if !s.Tasks["a"].Admitted() || s.Jobs() != 2 || s.JobsOf("ann") != 2 {
		t.Errorf("admitted: %t, %d Jobs, %d of its user", s.Tasks["a"].Admitted(), s.Jobs(), s.JobsOf("ann"))
	}
}

// recount returns the count of Jobs that follows from the records.
func recount(s *State) jobCount {
	c := jobCount{ofUser: map[string]int{}}
	for _, r := range records(s) {
		if r.Admitted && !r.CleanedUp {
			c.total += r.NumNodes()
			c.ofUser[r.Submit.User] += r.NumNodes()
		}
	}
	return c
}

// After every command the count of Jobs equals the count from the records, and no admission
// has exceeded its limits. A state that was encoded and decoded counts the same.
func TestJobsAreCountedAsTheRecordsSay(t *testing.T) {
	for seed := range seeds(50) {
		g := generator{rand.New(rand.NewPCG(seed, 6))}
		s := newTestState(t)
		for range 300 {
			c := g.command()
			before, ofUser := s.Jobs(), map[string]int{}
			for _, user := range users {
				ofUser[user] = s.JobsOf(user)
			}
			s.fold(c)
			if want := recount(s.State); !reflect.DeepEqual(s.jobs, want) {
				t.Fatalf("seed %d: after %s the count is %+v, want %+v", seed, text(c), s.jobs, want)
			}
			if c.Admitted == nil {
				continue
			}
			if l := c.Admitted.Limits; s.Jobs() > before && l.ExceedsTotal(s.Jobs()) {
				t.Fatalf("seed %d: after %s there are %d Jobs", seed, text(c), s.Jobs())
			}
			for _, user := range users {
				if n := s.JobsOf(user); n > ofUser[user] && c.Admitted.Limits.ExceedsPerUser(n) {
					t.Fatalf("seed %d: after %s user %q has %d Jobs", seed, text(c), user, n)
				}
			}
		}
		if again := decoded(t, encoded(t, s.Snapshot())); !reflect.DeepEqual(again.jobs, s.jobs) {
			t.Fatalf("seed %d: after a snapshot the count is %+v, want %+v", seed, again.jobs, s.jobs)
		}
	}
}
