package submit

import (
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/task"
)

// A task costs the API server one creation and one deletion.
func TestAJobThatIsSeenToGoIsNotAskedForAgain(t *testing.T) {
	w := newTestCluster(t)
	w.retryDeletionsAfter(time.Hour)
	w.watch()
	w.submit("a", 1)
	w.must("a", "applied")
	w.await("a", "Job", func(v task.View) bool { return v.Jobs[0] != nil })
	w.stop("a")
	w.mustFail("a", errDeletionPending)
	w.await("a", "deletion", func(v task.View) bool { return v.Jobs[0] == nil })
	w.must("a", "cleaned_up")
	w.mustCall("create train-a", "delete train-a")
}

// The deletion of a Job takes long, and its pods change in the meantime.
func TestADeletionIsAskedForOnce(t *testing.T) {
	w := newTestCluster(t)
	w.retryDeletionsAfter(time.Hour)
	w.watch()
	w.submit("a", 2)
	w.must("a", "applied")
	w.await("a", "Jobs", func(v task.View) bool { return v.Jobs[0] != nil && v.Jobs[1] != nil })
	w.cluster.PrependReactor("delete", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, nil })
	w.stop("a")
	w.calls()
	for range 3 {
		w.mustFail("a", errDeletionPending)
	}
	w.mustCall("delete train-a-node-0", "delete train-a-node-1")
}

// The informers lag behind the end of a sibling; one read of the Job shows its end.
func TestFinishedSiblingIsReadOnce(t *testing.T) {
	w := applied(t, 2)
	w.retryDeletionsAfter(time.Hour)
	w.append(task.Command{Ended: &task.Ended{ID: "a", Phase: task.Failed}})
	live := w.jobsByName()["train-a-node-0"]
	over(batchv1.JobFailed)(&live)
	w.cluster.PrependReactor("get", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) { return true, &live, nil })
	w.calls()
	for range 3 {
		w.mustStep("a")
	}
	if calls := w.calls(); len(calls) != 2 {
		t.Errorf("calls %q", calls)
	}
}

func TestStatesOfADeletion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := pendingDeletions{firstRetry: time.Second}
		shown := &task.Job{UID: "u"}
		check := func(when string, shown *task.Job, gone, pending bool) {
			t.Helper()
			if g, u := e.state("job", shown); g != gone || u != pending {
				t.Errorf("%s: gone %v, under way %v", when, g, u)
			}
		}
		check("before it", shown, false, false)
		e.accepted("job", "u", nil)
		check("while the informers have not shown it", nil, false, true)
		check("while they show it", shown, false, true)
		check("once they do not", nil, true, false)
		check("after that", nil, false, false)

		e.accepted("job", "u", nil)
		time.Sleep(2 * time.Second)
		check("without any news", nil, false, false)
		e.accepted("job", "u", nil)
		time.Sleep(1500 * time.Millisecond)
		check("a second time, which lasts twice as long", nil, false, true)
		time.Sleep(time.Second)
		check("after that time", nil, false, false)
		e.accepted("job", "u", shown)
		check("when another one has its name", &task.Job{UID: "other"}, true, false)
		e.accepted("job", "u", shown)
		e.drop("job")
		check("once it is forgotten", nil, false, false)
	})
}
