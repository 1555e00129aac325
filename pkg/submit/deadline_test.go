package submit

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"k8s-cli/pkg/task"
)

const hour = time.Hour

// startLimited submits a task with a max_duration of an hour, and appends that it runs.
func (w *testCluster) startLimited(nodes int) {
	w.t.Helper()
	w.append(task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "python", Task: task.Spec{Name: "train", NumNodes: nodes, Run: "true", MaxDuration: "1h"}}})
	w.must("a", "applied")
	w.watch()
	w.await("a", "Jobs", func(v task.View) bool { return v.Jobs[nodes-1] != nil })
	w.append(task.Command{Started: &task.Started{ID: "a", Nodes: make([]task.Node, nodes)}})
}

// A task ends when it has run for its max_duration, by the clock of the leader. If the clock of
// the log is wrong, the task ends when the leader has measured the max_duration.
func TestATaskEndsAtItsDeadline(t *testing.T) {
	for name, wrong := range clocks {
		t.Run("the clock of the log is "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newTestCluster(t)
				w.log.Now = func() time.Time { return time.Now().Add(wrong) }
				w.startLimited(2)
				w.store.Samples.Receive([]byte(sampled))
				if took := w.until("a", "ended"); took > hour || took < hour-2*time.Second {
					t.Errorf("the task ends after %s", took)
				}
				w.checkEnded()
				w.checkMax()
			})
		})
	}
}

// checkEnded checks that the task has failed because of its deadline, and that its Jobs are
// deleted at once.
func (w *testCluster) checkEnded() {
	w.t.Helper()
	const message = "the task has run for its max_duration of 1h"
	r := w.record("a")
	if r.Phase != task.Failed || r.Reason != task.ReasonDeadline || r.Message != message {
		w.t.Errorf("the task is %s: %s: %s", r.Phase, r.Reason, r.Message)
	}
	for _, n := range r.Nodes {
		if n.Phase != task.Failed || n.Reason != task.ReasonDeadline || n.Message != message || n.ExitCode != nil {
			w.t.Errorf("node %+v", n)
		}
	}
	if _, err := w.step("a"); err != nil && !errors.Is(err, errDeletionPending) {
		w.t.Error(err)
	}
	if jobs := w.jobsByName(); len(jobs) != 0 {
		w.t.Errorf("%d Jobs are left", len(jobs))
	}
}

// The next leader continues to count from the log time of the start.
func TestTheNextLeaderKnowsTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.log.Now = time.Now
		w.startLimited(1)
		w.must("a")
		time.Sleep(50 * time.Minute)
		w.Controller = New(w.cluster, namespace, w.store, w.log, Config{Workers: 4})
		if took := w.until("a", "ended"); took != 10*time.Minute {
			t.Errorf("the task ends after further %s", took)
		}
		w.checkEnded()
	})
}

// A leader whose clock is ahead by an hour or more tries early, and the log decides.
func TestALeaderAheadOfTheLogEndsNoTaskEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.log.Now = func() time.Time { return time.Now().Add(-2 * hour) }
		w.startLimited(1)
		w.must("a", "ended: early")
		began := time.Now()
		if took := w.until("a", "ended"); took < hour-time.Minute || took > hour {
			t.Errorf("the task ends after %s", time.Since(began))
		}
	})
}

// A task that succeeds at its deadline has succeeded.
func TestSuccessComesBeforeTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newTestCluster(t)
		w.log.Now = time.Now
		w.startLimited(1)
		w.must("a")
		time.Sleep(2 * hour)
		w.change("train-a", over(batchv1.JobComplete))
		synctest.Wait()
		w.must("a", "ended")
		if r := w.record("a"); r.Phase != task.Completed {
			t.Errorf("the task is %s: %s", r.Phase, r.Message)
		}
		w.config.KeepJobs = time.Nanosecond
		w.until("a", "cleaned_up")
		if len(w.runs.since) != 0 {
			t.Errorf("left: %v", w.runs.since)
		}
	})
}

// Jobs name the max_duration and the annotations, so that they survive the loss of the log.
func TestAdoptedTasksHaveADeadlineAndAnnotations(t *testing.T) {
	w, _ := lost(t, 1, func(job *batchv1.Job) {
		job.Annotations[task.AnnotationMaxDuration], job.Annotations[task.AnnotationOwn] = "1h", `{"commit":"4f2a91c"}`
	})
	w.must("a", "adopted")
	if got := w.record("a").Submit.Task; got.MaxDuration != "1h" || got.Annotations["commit"] != "4f2a91c" {
		t.Errorf("the adopted task has max_duration %q and annotations %v", got.MaxDuration, got.Annotations)
	}
}
