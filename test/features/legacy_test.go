package features

import (
	"fmt"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// legacyJob creates the Job of a task as the original launcher does.
func (c *cluster) legacyJob(t *testing.T, id, name, script string) {
	t.Helper()
	labels := map[string]string{"skypilot-task": "true", "task-id": id, "username": "ann", "node-idx": "0"}
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-" + id, Labels: map[string]string{"task-name": name},
			Annotations: map[string]string{"created-at": "2025-10-05T12:00:00.123456", "num-nodes": "1"},
		},
		Spec: batchv1.JobSpec{
			BackoffLimit: new(int32(0)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Containers:    []corev1.Container{{Name: "task", Image: "python:3.13-slim", Command: []string{"/bin/bash", "-c"}, Args: []string{script}}},
				},
			},
		},
	}
	for key, value := range labels {
		job.Labels[key] = value
	}
	if _, err := c.BatchV1().Jobs(c.namespace).Create(t.Context(), job, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) legacyClaim(t *testing.T, id, name string) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name + "-" + id,
			Labels:      map[string]string{"skypilot-volume": "true", "volume-id": id, "volume-name": name, "username": "ann"},
			Annotations: map[string]string{"created-at": "2025-10-05T12:00:00.123456"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if _, err := c.CoreV1().PersistentVolumeClaims(c.namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// The server adopts the tasks and volumes of the original launcher with --adopt-legacy.
// Without this flag the server does not touch them.
func TestLegacyTasksAndVolumes(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.legacyJob(t, "0a1b2c3d", "done", "echo from the original")
	s.legacyJob(t, "4e5f6a7b", "goes-on", "echo begun; sleep 600")
	s.legacyClaim(t, "8c9d0e1f", "data")
	ann := s.as(t, "ann")
	own := ann.submit(t, "run: 'true'")
	ann.await(t, own, task.Completed)
	if got := ann.tasks(t); len(got) != 1 {
		t.Errorf("tasks %q, of which one is ours", got)
	}
	s.process.Kill()

	s.flags = append(s.flags, "--adopt-legacy")
	s = s.again(t)
	ann = s.as(t, "ann")
	eventually(t, "all tasks are there", func() (string, bool) {
		ids := ann.tasks(t)
		return fmt.Sprint(ids), len(ids) == 3
	})
	done := ann.await(t, "0a1b2c3d", task.Completed)
	if done.Name != "done" || done.Metadata.JobName != "done-0a1b2c3d" {
		t.Errorf("adopted as %+v", done)
	}
	if log := ann.log(t, "0a1b2c3d", client.LogOptions{}); log != "from the original\n" {
		t.Errorf("its log is %q", log)
	}
	ann.await(t, "4e5f6a7b", task.Running)
	ann.stop(t, "4e5f6a7b")
	s.awaitNothing(t, "4e5f6a7b")
	eventually(t, "the volume is adopted", func() (string, bool) {
		all, err := ann.Volumes(t.Context(), false)
		return fmt.Sprint(all, err), err == nil && len(all) == 1 && all[0].ID == "8c9d0e1f" && all[0].Name == "data"
	})
	ann.run(t, "run: echo kept >/data/file; cat /data/file\nvolumes: {/data: data}")
	ann.deleteVolume(t, "8c9d0e1f")
	s.awaitNoClaim(t, "data-8c9d0e1f")
}
