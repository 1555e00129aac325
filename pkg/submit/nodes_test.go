package submit

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

func suspended(j batchv1.Job) bool { return j.Spec.Suspend != nil && *j.Spec.Suspend }

// applied returns a testCluster whose task a is applied and shown by the informers.
func applied(t *testing.T, nodes int) *testCluster {
	t.Helper()
	w := newTestCluster(t)
	w.watch()
	w.submit("a", nodes)
	w.must("a", "applied")
	w.await("a", "Jobs", func(v task.View) bool { return !slices.Contains(v.Jobs, nil) })
	return w
}

func (w *testCluster) awaitRunning(nodes int) {
	w.t.Helper()
	w.await("a", "resumed Jobs", func(v task.View) bool {
		running := 0
		for _, j := range v.Jobs {
			if j != nil && !j.Suspended && (j.Resumed || nodes == 1) {
				running++
			}
		}
		return running == nodes
	})
}

func TestSeveralNodesStartWhenAllExist(t *testing.T) {
	w := newTestCluster(t)
	w.watch()
	w.submit("a", 2)
	w.failing("create", "jobs", 1, errors.New("connection refused"))
	if _, err := w.step("a"); err == nil {
		t.Fatal("no error")
	}
	w.must("a", "applied")
	for name, j := range w.jobsByName() {
		if !suspended(j) {
			t.Errorf("job %s runs before all are noted", name)
		}
	}
	w.await("a", "Jobs", func(v task.View) bool { return !slices.Contains(v.Jobs, nil) })
	w.must("a")
	for name, j := range w.jobsByName() {
		if suspended(j) || j.Annotations[task.AnnotationResumed] != "true" {
			t.Errorf("job %s does not run", name)
		}
	}
}

func TestAJobIsResumedOnce(t *testing.T) {
	w := applied(t, 2)
	w.must("a")
	w.awaitRunning(2)
	w.change("train-a-node-1", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
	w.await("a", "suspended Job", func(v task.View) bool { return v.Jobs[1].Suspended })
	w.must("a")
	if !suspended(w.jobsByName()["train-a-node-1"]) {
		t.Error("a Job that somebody else suspended was resumed")
	}
}

// While the informers lag or a Job is missing, the other nodes are not resumed.
func TestNoNodeIsResumedBeforeAllAreSeen(t *testing.T) {
	w := newTestCluster(t)
	w.place(jobsOf(newTestCluster(t).submit("a", 2))[0])
	w.watch()
	w.must("a", "adopted") // one of the two Jobs, after a log was lost
	w.log.Now = time.Now
	if err := w.resume(t.Context(), w.store.TaskView("a")); err != nil {
		t.Error(err)
	}
	if job := w.jobsByName()["train-a-node-0"]; !suspended(job) {
		t.Error("the one node that there is runs alone")
	}
}

func TestATaskThatMayNotBeResumedFails(t *testing.T) {
	w := applied(t, 2)
	w.failing("patch", "jobs", 1, apierrors.NewServiceUnavailable("later"))
	if facts, err := w.step("a"); !apierrors.IsServiceUnavailable(err) || len(facts) != 0 {
		t.Errorf("facts %q, error %v", facts, err)
	}
	w.failing("patch", "jobs", -1, apierrors.NewForbidden(jobs, "train-a-node-0", errors.New("not you")))
	w.must("a", "ended")
	if r := w.record("a"); r.Phase != task.Failed || r.Reason != "Forbidden" || !strings.Contains(r.Message, "resume job train-a-node-0: ") {
		t.Errorf("record %+v", r)
	}
	w.mustStep("a")
	w.wantJobs(0)
}

// A queue such as Kueue suspends Jobs at their creation and resumes them.
func TestASingleNodeThatOthersSuspendIsLeftAlone(t *testing.T) {
	w := applied(t, 1)
	w.change("train-a", func(j *batchv1.Job) { j.Spec.Suspend = new(true) })
	w.await("a", "suspended Job", func(v task.View) bool { return v.Jobs[0].Suspended })
	w.must("a")
	if !suspended(w.jobsByName()["train-a"]) {
		t.Error("it was resumed")
	}
}

func TestATaskStartsOnce(t *testing.T) {
	w := applied(t, 2)
	w.must("a")
	w.awaitRunning(2)
	w.startPod("train-a-node-0")
	w.await("a", "pod", func(v task.View) bool { return v.CurrentPhase() == task.Running })
	w.must("a", "started")
	w.startPod("train-a-node-1")
	w.await("a", "pods", func(v task.View) bool { return v.Pods[1] != nil })
	w.must("a")
}

func TestATaskIsCompleteWhenAllItsNodesAre(t *testing.T) {
	w := applied(t, 2)
	w.store.Samples.Receive([]byte(sampled))
	w.change("train-a-node-0", over(batchv1.JobComplete))
	w.await("a", "end", func(v task.View) bool { return v.Jobs[0].Phase == task.Completed })
	w.must("a", "started")
	w.change("train-a-node-1", over(batchv1.JobComplete))
	w.await("a", "end", func(v task.View) bool { return v.Jobs[1].Phase == task.Completed })
	w.must("a", "ended")
	if r := w.record("a"); r.Phase != task.Completed || r.Reason != "" {
		t.Errorf("record %+v", r)
	}
	w.checkMax()
}

func TestAFailedNodeEndsItsSiblings(t *testing.T) {
	w := applied(t, 3)
	w.must("a")
	w.awaitRunning(3)
	w.change("train-a-node-0", over(batchv1.JobComplete))
	w.change("train-a-node-1", over(batchv1.JobFailed))
	w.await("a", "end", func(v task.View) bool { return v.Jobs[0].Phase.Over() && v.Jobs[1].Phase.Over() })
	w.must("a", "ended")

	r := w.record("a")
	got := []string{string(r.Phase), r.Reason}
	for _, n := range r.Nodes {
		got = append(got, string(n.Phase)+" "+n.Reason)
	}
	want := []string{"failed", "Because", "completed ", "failed Because", "failed " + task.ReasonSibling}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("end (-want +got):\n%s", diff)
	}

	w.mustStep("a")
	left := w.jobsByName()
	if _, runs := left["train-a-node-2"]; runs || len(left) != 2 {
		t.Errorf("jobs %v, want those that came to their end", left)
	}
}

func TestAJobThatSomebodyRemovedFailsItsTask(t *testing.T) {
	w := applied(t, 2)
	w.remove("train-a-node-1")
	w.await("a", "loss", func(v task.View) bool { return v.Jobs[1] == nil })
	w.must("a", "ended")
	if r := w.record("a"); r.Phase != task.Failed || r.Reason != task.ReasonDeleted {
		t.Errorf("record %+v", r)
	}
	for len(w.jobsByName()) > 0 {
		w.mustStep("a")
	}
}

func TestAJobThatIsReplacedIsLost(t *testing.T) {
	w := newTestCluster(t)
	job := jobsOf(w.submit("a", 1))[0]
	w.must("a", "applied")
	w.remove("train-a")
	job.UID = "another"
	w.place(job)
	w.must("a", "ended")
	if got := w.record("a").Reason; got != task.ReasonDeleted {
		t.Errorf("reason %q", got)
	}
}

func TestAJobThatTheInformersDoNotShowYetIsNotLost(t *testing.T) {
	t.Run("it was created a moment ago", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := newTestCluster(t)
			w.log.Now = time.Now
			w.submit("a", 1)
			w.must("a", "applied")
			w.remove("train-a") // within the grace period even a removed Job is not read
			w.calls()
			again, err := w.reconcile(t.Context(), taskKey("a"))
			if err != nil || again <= 0 || again > informerGrace {
				t.Errorf("again in %v, error %v", again, err)
			}
			w.mustCall()
		})
	})
	t.Run("the cluster has it", func(t *testing.T) {
		w := newTestCluster(t)
		w.submit("a", 1)
		w.must("a", "applied")
		again, err := w.reconcile(t.Context(), taskKey("a"))
		if facts := w.log.Facts(); err != nil || again <= 0 || len(facts) != 0 {
			t.Errorf("facts %q, again in %v, error %v", facts, again, err)
		}
	})
	t.Run("the cluster is away", func(t *testing.T) {
		w := newTestCluster(t)
		w.submit("a", 1)
		w.must("a", "applied")
		w.failing("get", "jobs", -1, errors.New("connection refused"))
		w.mustFail("a", nil)
	})
}

// The last lines of a failed setup are read from its log, whatever the size of the lines.
func TestSetupThatFailedLeavesItsLastLines(t *testing.T) {
	w := applied(t, 1)
	w.startPod("train-a")
	w.failPod("train-a", corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error", ContainerID: "c", Message: task.SetupFailed})
	w.change("train-a", over(batchv1.JobFailed))
	w.await("a", "end", func(v task.View) bool { return v.Jobs[0].Phase.Over() && v.Pods[0] != nil && v.Pods[0].ExitCode != nil })
	w.must("a", "ended")
	const message = "exit code 3" + task.SetupFailedSuffix
	if r := w.record("a"); r.Message != message || r.Nodes[0].Message != message+"\nfake logs" { // the content of logs in client-go's fake
		t.Errorf("the task says %q, its node %q", r.Message, r.Nodes[0].Message)
	}
	var last tailBuffer
	for range 100 {
		if n, err := last.Write([]byte(strings.Repeat("x", tailBufferSize/10) + "\n")); n != tailBufferSize/10+1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if _, _ = last.Write([]byte("end")); !strings.HasSuffix(string(last.text), "x\nend") || len(last.text) > 2*tailBufferSize+3 || len(last.text) < tailBufferSize {
		t.Errorf("%d bytes are kept", len(last.text))
	}
}

// The end of a Job may be seen before the end of its pod, which has the reason.
func TestTheLastStatusOfAPodIsWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := applied(t, 1)
		w.startPod("train-a")
		w.await("a", "pod", func(v task.View) bool { return v.Pods[0] != nil })
		w.must("a", "started")
		w.change("train-a", func(j *batchv1.Job) {
			over(batchv1.JobFailed)(j)
			j.Status.Conditions[0].LastTransitionTime = metav1.Now()
		})
		w.await("a", "end", func(v task.View) bool { return v.Jobs[0].Phase.Over() })
		again, err := w.reconcile(t.Context(), taskKey("a"))
		if facts := w.log.Facts(); err != nil || again <= 0 || again > informerGrace || len(facts) != 0 {
			t.Fatalf("facts %q, again in %v, error %v", facts, again, err)
		}
		w.failPod("train-a", corev1.ContainerStateTerminated{ExitCode: 3, Reason: "Error"})
		w.await("a", "exit code", func(v task.View) bool { return v.Pods[0].ExitCode != nil })
		w.must("a", "ended")
		if r := w.record("a"); r.Reason != "Error" || r.Message != "exit code 3" || *r.Nodes[0].ExitCode != 3 {
			t.Errorf("record %+v", r)
		}
	})
}

// sampled are samples of node 1 of the task a.
const sampled = `{"samples":[{"task":"a","rank":1,"used":{"cpus":1,"memory_bytes":7},"max":{"cpus":2,"memory_bytes":8}}]}`

// checkMax checks that the record of the task a has the maximum of sampled.
func (w *testCluster) checkMax() {
	w.t.Helper()
	nodes := w.record("a").Nodes
	if nodes[0].MaxUsed != nil || nodes[1].MaxUsed == nil || *nodes[1].MaxUsed != (task.Amounts{CPUs: 2, Memory: 8}) {
		w.t.Errorf("the maxima of %+v", nodes)
	}
}
