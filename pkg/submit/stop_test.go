package submit

import (
	"errors"
	"slices"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/task"
)

func TestAStoppedTaskHasNoJobsAnyMore(t *testing.T) {
	for _, nodes := range []int{1, 5} {
		w := newTestCluster(t)
		w.submit("a", nodes)
		w.must("a", "applied")
		w.stop("a")
		w.mustFail("a", errDeletionPending)
		if left := w.jobsByName(); len(left) != 0 {
			t.Errorf("of %d nodes %d Jobs are left after one look", nodes, len(left))
			for len(w.jobsByName()) > 0 {
				_, _ = w.step("a")
			}
		}
		w.must("a", "cleaned_up")
		if !w.record("a").CleanedUp {
			t.Error("the log does not say so")
		}
	}
}

func TestATaskThatIsStoppedBeforeItIsAppliedIsNotCreated(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 1)
	w.stop("a")
	w.must("a", "cleaned_up")
	w.mustCall("get train-a")
}

// The stop comes after a Job was created and before Applied is stored. The order of the log
// decides, and the Job is deleted.
func TestAStopWhileJobsAreCreated(t *testing.T) {
	for _, tt := range []struct {
		nodes int
		facts []string
	}{
		{1, []string{"applied: late"}},
		{3, nil}, // the read barrier before the second Job shows the stop
	} {
		w := newTestCluster(t)
		w.submit("a", tt.nodes)
		w.cluster.PrependReactor("create", "jobs", func(clienttesting.Action) (bool, runtime.Object, error) {
			if w.record("a").Phase != task.Stopped {
				w.stop("a")
			}
			return false, nil, nil
		})
		w.must("a", tt.facts...)
		if n := len(w.jobsByName()); n != 1 {
			t.Errorf("of %d Jobs %d were created", tt.nodes, n)
		}
		w.mustEnd("a")
	}
}

// mustEnd reconciles a task that is over until the log contains CleanedUp.
func (w *testCluster) mustEnd(id string) {
	w.t.Helper()
	for {
		facts, err := w.step(id)
		if err == nil && !slices.Equal(facts, []string{"cleaned_up"}) {
			w.t.Errorf("facts %q", facts)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, errDeletionPending) {
			w.t.Fatal(err)
		}
	}
	w.wantJobs(0)
}

// A controller that was paused between its read barrier and the creation may create a Job
// after another controller has cleaned up.
func TestAJobThatComesAfterTheEndIsDeleted(t *testing.T) {
	for _, tt := range []struct {
		name  string
		since func(*batchv1.Job)
	}{
		{"before it has run", func(*batchv1.Job) {}},
		{"though it has run to its end", over(batchv1.JobComplete)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			jobs := jobsOf(w.submit("a", 1))
			w.stop("a")
			w.must("a", "cleaned_up")
			w.watch()
			tt.since(jobs[0])
			w.place(jobs[0])
			w.await("a", "Job", func(v task.View) bool { return v.Jobs[0] != nil })
			if _, err := w.step("a"); err != nil && !errors.Is(err, errDeletionPending) {
				t.Error(err)
			}
			w.wantJobs(0)
		})
	}
}

// Another controller saw the end and crashed; the informers of this controller lag.
func TestFinishedJobIsRetainedThoughTheInformersShowThatItRuns(t *testing.T) {
	w := applied(t, 2)
	w.append(task.Command{Ended: &task.Ended{ID: "a", Phase: task.Failed}})
	live := w.jobsByName()["train-a-node-0"]
	over(batchv1.JobFailed)(&live)
	w.cluster.PrependReactor("get", "jobs", func(a clienttesting.Action) (bool, runtime.Object, error) {
		return a.(clienttesting.GetAction).GetName() == live.Name, &live, nil
	})
	w.mustStep("a")
	left := w.jobsByName()
	if _, kept := left[live.Name]; !kept || len(left) != 1 {
		t.Errorf("jobs %v, want the one that came to its end", left)
	}
}

func TestAStopDeletesNoJobOfOthers(t *testing.T) {
	for _, tt := range []struct {
		name    string
		applied bool
		alter   func(*batchv1.Job)
	}{
		{"another UID after it was applied", true, func(j *batchv1.Job) { j.UID = "other" }},
		{"another submission before it was applied", false, func(j *batchv1.Job) { j.Annotations[task.AnnotationSubmission] = "other" }},
		{"another user before it was applied", false, func(j *batchv1.Job) { j.Annotations[task.AnnotationUser] = "bob" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			job := jobsOf(w.submit("a", 1))[0]
			if tt.applied {
				w.must("a", "applied")
				w.remove(job.Name)
			}
			tt.alter(job)
			w.place(job)
			w.stop("a")
			w.must("a", "cleaned_up")
			w.wantJobs(1)
		})
	}
}

func TestADeletionThatFailsIsTriedAgain(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 1)
	w.must("a", "applied")
	w.stop("a")
	w.failing("delete", "jobs", 1, apierrors.NewServiceUnavailable("later"))
	if facts, err := w.step("a"); !apierrors.IsServiceUnavailable(err) || len(facts) != 0 {
		t.Errorf("facts %q, error %v", facts, err)
	}
	w.mustFail("a", errDeletionPending)
	w.must("a", "cleaned_up")
}

// CleanedUp needs an answer of the API server: a failed read proves nothing.
func TestTaskIsNotCleanedUpWhileTheClusterIsAway(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 1)
	w.stop("a")
	w.failing("get", "jobs", 1, apierrors.NewServiceUnavailable("later"))
	if facts, err := w.step("a"); !apierrors.IsServiceUnavailable(err) || len(facts) != 0 {
		t.Errorf("facts %q, error %v", facts, err)
	}
	w.must("a", "cleaned_up")
}

func TestFinishedJobIsRetained(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ended time.Duration // how long ago
		kept  bool
	}{
		{"just ended", 0, true},
		{"ended some time ago", 50 * time.Minute, true},
		{"ended long ago", 61 * time.Minute, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			w.log.Now = func() time.Time { return time.Now().Add(-tt.ended) }
			w.watch()
			w.submit("a", 1)
			w.must("a", "applied")
			w.await("a", "Job", func(v task.View) bool { return v.Jobs[0] != nil })
			w.change("train-a", over(batchv1.JobComplete))
			w.await("a", "end", func(v task.View) bool { return v.Jobs[0].Phase == task.Completed })
			w.must("a", "ended")

			again, err := w.reconcile(t.Context(), taskKey("a"))
			if !tt.kept {
				if !errors.Is(err, errDeletionPending) || len(w.jobsByName()) != 0 {
					t.Fatalf("error %v, jobs %v", err, w.jobsByName())
				}
				w.must("a", "cleaned_up")
				return
			}
			if err != nil || len(w.jobsByName()) != 1 || again <= 0 || again > time.Hour-tt.ended {
				t.Errorf("again in %v, error %v, jobs %v", again, err, w.jobsByName())
			}
		})
	}
}

func TestALateJobThatCannotBeDeletedIsTriedAgain(t *testing.T) {
	w := newTestCluster(t)
	jobs := jobsOf(w.submit("a", 1))
	w.stop("a")
	w.must("a", "cleaned_up")
	w.watch()
	w.place(jobs[0])
	w.await("a", "Job", func(v task.View) bool { return v.Jobs[0] != nil })
	w.failing("delete", "jobs", 1, apierrors.NewServiceUnavailable("later"))
	if _, err := w.step("a"); !apierrors.IsServiceUnavailable(err) || len(w.jobsByName()) != 1 {
		t.Errorf("error %v, %d Jobs", err, len(w.jobsByName()))
	}
	if _, err := w.step("a"); err != nil && !errors.Is(err, errDeletionPending) || len(w.jobsByName()) != 0 {
		t.Errorf("error %v, %d Jobs", err, len(w.jobsByName()))
	}
}
