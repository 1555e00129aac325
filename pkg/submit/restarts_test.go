package submit

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// failAttempt adds the failed pod of an attempt of a Job.
func (w *testCluster) failAttempt(job string, number int, finalizers ...string) {
	w.t.Helper()
	owner := w.jobsByName()[job]
	at := metav1.NewTime(time.Now().Add(time.Duration(number-10) * time.Minute).Truncate(time.Second))
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%d", job, number), Namespace: namespace, Labels: owner.Labels, CreationTimestamp: at, Finalizers: finalizers,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&owner, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 3, Reason: "Error", Message: "last words", ContainerID: "c", StartedAt: at, FinishedAt: at,
			}},
		}}},
	}
	if _, err := w.cluster.CoreV1().Pods(namespace).Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// Each attempt that is followed by another one is in the log, once. The last attempt is not:
// the task ends with it.
func TestEachRestartIsReportedOnce(t *testing.T) {
	w := newTestCluster(t)
	w.append(task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "python", Task: task.Spec{
		Name: "train", Run: "true", Resources: task.Resources{JobRecovery: task.Recovery{Restarts: 2}},
	}}})
	w.watch()
	w.must("a", "applied")
	w.await("a", "Job", func(v task.View) bool { return v.Jobs[0] != nil })

	w.failAttempt("train-a", 1, batchv1.JobTrackingFinalizer)
	w.await("a", "pod", func(v task.View) bool { return v.Pods[0] != nil })
	w.must("a", "started") // the Job controller has not decided yet
	pod, err := w.cluster.CoreV1().Pods(namespace).Get(t.Context(), "train-a-1", metav1.GetOptions{})
	must.Succeed(t, err)
	pod.Finalizers = nil
	if _, err := w.cluster.CoreV1().Pods(namespace).Update(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.await("a", "decision", func(v task.View) bool { return !v.Pods[0].Uncounted })
	w.must("a", "restarted")
	w.must("a")

	w.failAttempt("train-a", 2)
	w.failAttempt("train-a", 3)
	w.await("a", "pods", func(v task.View) bool { return v.Earlier != nil && len(v.Earlier[0]) == 2 })
	w.change("train-a", over(batchv1.JobFailed))
	w.await("a", "end", func(v task.View) bool { return v.Jobs[0].Phase == task.Failed })
	w.must("a", "restarted")
	w.must("a", "ended")

	r := w.record("a")
	if len(r.Attempts) != 2 || r.Nodes[0].Pod != "train-a-3" {
		t.Fatalf("%+v", r)
	}
	for i, a := range r.Attempts {
		if a.Number != i+1 || a.MaxAttempts != 3 || a.Pod != fmt.Sprintf("train-a-%d", i+1) || *a.ExitCode != 3 || a.Reason != "Error" || a.Message != "exit code 3" {
			t.Errorf("attempt %d: %+v", i+1, a)
		}
	}
}
