package state

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

const (
	unknown = task.RejectedNotFound
	taken   = task.RejectedIDExists
	late    = task.RejectedStale
)

var (
	pendingA = history(submit("ann", "a"))
	appliedA = history(submit("ann", "a"), applied(taskKey("a"), "u"))
	runningA = history(submit("ann", "a"), applied(taskKey("a"), "u"), started("a"))
	endedA   = history(submit("ann", "a"), applied(taskKey("a"), "u"), ended("a", task.Completed))
	stoppedA = history(submit("ann", "a"), stop("ann", "a"))
	refusedA = history(submit("ann", "a"), refused(taskKey("a"), "Invalid"))
)

func TestCommandsAndFactsAboutATask(t *testing.T) {
	for _, tt := range []struct {
		name    string
		history []task.Command
		then    task.Command
		refusal task.Rejection
		want    string // summary of task a
	}{
		{"a submission makes a pending task", nil, submit("ann", "a"), "", "pending"},
		{"an id that is in use is taken", pendingA, submit("ann", "a"), taken, "pending"},
		{"an id that another user has is taken", pendingA, submit("bob", "a"), taken, "pending"},
		{"an id stays taken after the end", stoppedA, submit("ann", "a"), taken, "stopped"},

		{"a stop ends a pending task", pendingA, stop("ann", "a"), "", "stopped"},
		{"a stop ends a running task", runningA, stop("ann", "a"), "", "stopped, uids [u]"},
		{"a stop of nothing is refused", nil, stop("ann", "a"), unknown, "none"},
		{"a stop of another user's task is refused", pendingA, stop("bob", "a"), unknown, "pending"},
		{"a user is not who is spelled alike", pendingA, stop("Ann", "a"), unknown, "pending"},
		{"a second stop changes nothing", stoppedA, stop("ann", "a"), "", "stopped"},
		{"a stop after the end changes nothing", endedA, stop("ann", "a"), "", "completed, uids [u], because end"},
		{"a stop forgets why a task was delayed", append(pendingA, delayed(taskKey("a"), "Quota")), stop("ann", "a"), "", "stopped"},

		{"claims are resolved", pendingA, resolved("a", "data-1"), "", "pending, claims data-1"},
		{"claims are resolved once", append(pendingA, resolved("a", "data-1")), resolved("a", "data-2"), late, "pending, claims data-1"},
		{"claims of a stopped task are not resolved", stoppedA, resolved("a", "data-1"), late, "stopped"},
		{"claims of no task are not resolved", nil, resolved("a", "data-1"), late, "none"},

		{"a delay gives its reason", pendingA, delayed(taskKey("a"), "Quota"), "", "pending, because Quota"},
		{"the last delay counts", append(pendingA, delayed(taskKey("a"), "Quota")), delayed(taskKey("a"), "Busy"), "", "pending, because Busy"},
		{"a delay after all was applied is late", appliedA, delayed(taskKey("a"), "Quota"), late, "pending, uids [u]"},
		{"a delay after a stop is late", stoppedA, delayed(taskKey("a"), "Quota"), late, "stopped"},

		{"what is applied has UIDs", pendingA, applied(taskKey("a"), "u"), "", "pending, uids [u]"},
		{"what is applied is not delayed any more", append(pendingA, delayed(taskKey("a"), "Quota")), applied(taskKey("a"), "u"), "", "pending, uids [u]"},
		{"it is applied once", appliedA, applied(taskKey("a"), "v"), late, "pending, uids [u]"},
		{"it is not applied after a stop", stoppedA, applied(taskKey("a"), "u"), late, "stopped"},
		{"it is not applied after a refusal", refusedA, applied(taskKey("a"), "u"), late, "failed, because Invalid"},
		{"it is not applied without a UID for each node", pendingA, applied(taskKey("a")), late, "pending"},
		{"nothing is applied without a submission", nil, applied(taskKey("a"), "u"), late, "none"},

		{"a task starts", appliedA, started("a"), "", "running, uids [u]"},
		{"a task starts once", runningA, started("a"), late, "running, uids [u]"},
		{"a task starts only when it is applied", pendingA, started("a"), late, "pending"},
		{"a task does not start after its end", endedA, started("a"), late, "completed, uids [u], because end"},

		{"a running task ends", runningA, ended("a", task.Failed), "", "failed, uids [u], because end"},
		{"a task may end that nobody saw run", appliedA, ended("a", task.Completed), "", "completed, uids [u], because end"},
		{"a task ends once", endedA, ended("a", task.Failed), late, "completed, uids [u], because end"},
		{"a stopped task does not end otherwise", append(appliedA, stop("ann", "a")), ended("a", task.Completed), late, "stopped, uids [u]"},
		{"a task that was not applied does not end", pendingA, ended("a", task.Completed), late, "pending"},
		{"an end has to be one", runningA, ended("a", task.Running), late, "running, uids [u]"},

		{"a refusal fails a task", pendingA, refused(taskKey("a"), "Invalid"), "", "failed, because Invalid"},
		{"a refusal after all was applied is late", appliedA, refused(taskKey("a"), "Invalid"), late, "pending, uids [u]"},
		{"a refusal after a stop is late", stoppedA, refused(taskKey("a"), "Invalid"), late, "stopped"},

		{"what is over may be gone", stoppedA, gone(taskKey("a")), "", "stopped, gone"},
		{"what is refused may be gone", refusedA, gone(taskKey("a")), "", "failed, because Invalid, gone"},
		{"it is gone once", append(stoppedA, gone(taskKey("a"))), gone(taskKey("a")), late, "stopped, gone"},
		{"what is not over is not gone", runningA, gone(taskKey("a")), late, "running, uids [u]"},
		{"nothing is gone without a submission", nil, gone(taskKey("a")), late, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, tt.history...)
			before := s.Tasks["a"]
			result, changed := s.fold(tt.then)
			if result.Rejection != tt.refusal || result.ID != "a" {
				t.Errorf("verdict %+v, want refusal %q", result, tt.refusal)
			}
			if got := summary(s.Tasks["a"].Record()); got != tt.want {
				t.Errorf("task is %q, want %q", got, tt.want)
			}
			if moved := s.Tasks["a"] != before; moved != (len(changed) == 1) {
				t.Errorf("the record changed: %v, keys %v", moved, changed)
			}
		})
	}
}

func TestARecordTellsWhenAndWhere(t *testing.T) {
	s := newTestState(t, submit("ann", "a"), submit("bob", "b"), applied(taskKey("a"), "u"))
	a, b := s.Tasks["a"].Record(), s.Tasks["b"].Record()
	if a.Seq != 2 || b.Seq != 3 || a.Order != 1 || b.Order != 2 {
		t.Errorf("a is %d of entry %d, b is %d of entry %d", a.Order, a.Seq, b.Order, b.Seq)
	}
	if !a.CreatedAt.Equal(noon.Add(2*time.Second)) || !a.UpdatedAt.Equal(noon.Add(4*time.Second)) {
		t.Errorf("a was created at %s and updated at %s", a.CreatedAt, a.UpdatedAt)
	}
	if want := submit("ann", "a").Submit.Hash(); a.Hash != want {
		t.Errorf("hash %s, want that of the submission, %s", a.Hash, want)
	}
}

func TestCleanUpIsNoUpdateOfTheTask(t *testing.T) {
	s := newTestState(t, stoppedA...)
	before := s.Tasks["a"].Record().UpdatedAt
	s.fold(gone(taskKey("a")))
	if got := s.Tasks["a"].Record().UpdatedAt; !got.Equal(before) {
		t.Errorf("updated at %s, want %s", got, before)
	}
}

func TestBodiesAreDroppedOnceTheyAreNotNeeded(t *testing.T) {
	whole := submit("ann", "a").Submit.Task
	kept := task.Spec{Name: whole.Name}
	for _, tt := range []struct {
		name    string
		history []task.Command
		want    task.Spec
	}{
		{"a pending task has its body", pendingA, whole},
		{"a resolved task has its body", append(pendingA, resolved("a", "data-1")), whole},
		{"an applied task needs none", appliedA, kept},
		{"a stopped task needs none", stoppedA, kept},
		{"a refused task needs none", refusedA, kept},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, newTestState(t, tt.history...).Tasks["a"].Record().Submit.Task); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStopAll(t *testing.T) {
	everyone := history(
		submit("a@b", "1"), submit("a@b", "2"), submit("a@b", "over"), stop("a@b", "over"),
		submit("a-b", "3"), submit("A", "4"), submit("a", "5"),
		submit("a", "done"), applied(taskKey("done"), "u"), ended("done", task.Completed),
	)
	for _, tt := range []struct {
		name    string
		then    task.Command
		stopped []string
	}{
		{"it stops the tasks of the user that are not over", stopAll("a@b"), []string{"1", "2"}},
		{"it does not stop those of a user with the same label", stopAll("a-b"), []string{"3"}},
		{"it heeds capitals", stopAll("A"), []string{"4"}},
		{"it stops nothing for a user without tasks", stopAll("nobody"), nil},
		{"it stops those of everyone if asked", stopEveryone("nobody"), []string{"1", "2", "3", "4", "5"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newTestState(t, everyone...)
			before := map[string]*CompactRecord{}
			for id, r := range s.Tasks {
				before[id] = r
			}
			result, changed := s.fold(tt.then)
			if result.Count != len(tt.stopped) || len(changed) != len(tt.stopped) {
				t.Errorf("it counts %d and changes %v, want %v", result.Count, changed, tt.stopped)
			}
			for _, id := range tt.stopped {
				if s.Tasks[id].Phase() != task.Stopped {
					t.Errorf("task %s is %s", id, s.Tasks[id].Phase())
				}
				delete(before, id)
			}
			for id, r := range before {
				if s.Tasks[id] != r {
					t.Errorf("task %s was changed", id)
				}
			}
			if result, _ := s.fold(tt.then); result.Count != 0 {
				t.Errorf("again, it counts %d", result.Count)
			}
		})
	}
}

func TestStopAllDoesNotStopLaterTasks(t *testing.T) {
	s := newTestState(t, submit("ann", "a"), stopAll("ann"), submit("ann", "b"))
	if a, b := s.Tasks["a"].Record().Phase, s.Tasks["b"].Record().Phase; a != task.Stopped || b != task.Pending {
		t.Errorf("a is %s, b is %s", a, b)
	}
}

// The record and the snapshot keep the maximum of each node. A fact without maxima reads as before.
func TestTheEndOfATaskHasTheMaximumOfEachNode(t *testing.T) {
	for _, want := range []*task.Amounts{nil, {CPUs: 0.25, Memory: 7}} {
		s := newTestState(t, submit("ann", "a"), applied(taskKey("a"), "u"))
		end := ended("a", task.Completed)
		end.Ended.Nodes[0].MaxUsed = want
		if strings.Contains(text(end), "max_used") != (want != nil) {
			t.Errorf("the fact is %s", text(end))
		}
		s.fold(end)
		for _, state := range []*State{s.State, decoded(t, encoded(t, s.Snapshot()))} {
			if got := state.Tasks["a"].Record().Nodes[0].MaxUsed; !cmp.Equal(got, want) {
				t.Errorf("the record has %+v, want %+v", got, want)
			}
		}
	}
}
