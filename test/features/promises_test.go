package features

import (
	"fmt"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

// A stop wins, however soon it follows its task and whichever server gets it: in the end the
// task has no Job, and gets none later.
func TestStopWins(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	leads(t, a, b)
	here, there := a.as(t, "ann"), b.as(t, "ann")
	const tasks = 40
	ids := make([]string, tasks)
	var all sync.WaitGroup
	for i := range tasks {
		all.Go(func() {
			got, err := here.Submit(t.Context(), task.Spec{Run: "true", NumNodes: 1 + i%2, Resources: task.Resources{ImageID: "registry.invalid/none"}})
			if err != nil {
				t.Errorf("submit: %v", err)
				return
			}
			ids[i] = got.ID
			if i%3 == 0 { // some stops come later
				_, _ = there.Task(t.Context(), got.ID)
			}
			if _, err := there.Stop(t.Context(), got.ID); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
	all.Wait()
	// The controller has handled all these tasks once a later task has run.
	here.run(t, "run: echo end")
	for _, id := range ids {
		here.wantPhase(t, id, task.Stopped, "here")
	}
	eventually(t, "no Job but the last one's", func() (string, bool) {
		jobs, pods := a.jobs(t, ""), a.pods(t, "")
		return fmt.Sprintf("%d Jobs, %d pods", len(jobs), len(pods)), len(jobs) == 1 && len(pods) == 1
	})
}

// The server neither lists nor changes objects that only look like its own. Objects of the
// original launcher that have its labels and nothing else are among these objects.
func TestForeignObjectsAreLeftAlone(t *testing.T) {
	t.Parallel()
	c := join(t)
	labels := map[string]string{"skypilot-task": "true", "task-id": "abcd1234", "task-name": "theirs", "username": "ann", "node-idx": "0"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "theirs-abcd1234", Labels: labels},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever,
				Containers:    []corev1.Container{{Name: "task", Image: "registry.invalid/none"}},
			},
		}},
	}
	if _, err := c.BatchV1().Jobs(c.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.claimByHand(t, "theirs-abcd1234")

	ann := c.serve(t).as(t, "ann")
	ann.wantsEmptyLists(t)
	ann.get(t, "ann", "/tasks/abcd1234").wants(t, 404, "Task abcd1234 not found")
	ann.post(t, "ann", "/tasks/abcd1234/stop", "").wants(t, 404, "Task abcd1234 not found")
	if got, err := ann.StopAll(t.Context(), true); err != nil || got.Count != 0 {
		t.Errorf("stop all: %+v, %v", got, err)
	}
	ann.run(t, "run: true") // now the controller has seen all objects
	if n := len(c.jobs(t, "abcd1234")); n != 1 {
		t.Errorf("there are %d Jobs of the original, want 1", n)
	}
	if c.claim(t, "theirs-abcd1234") == nil {
		t.Error("the claim is gone")
	}
}

// wantsEmptyLists checks that all users together have no task and no volume.
func (s *server) wantsEmptyLists(t *testing.T) {
	t.Helper()
	for path, want := range map[string]string{"/tasks?all_users=true": `{"tasks":[]}`, "/volumes?all_users=true": `{"volumes":[]}`} {
		if got := s.get(t, "ann", path); string(got.body) != want {
			t.Errorf("%s answers %s", path, got.body)
		}
	}
}
