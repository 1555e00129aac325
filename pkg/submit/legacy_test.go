package submit

import (
	"fmt"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// legacyJobs returns Jobs as the original launcher creates them.
func legacyJobs(nodes int) (jobs []*batchv1.Job) {
	for rank := range nodes {
		name := "train-0a1b2c3d"
		if nodes > 1 {
			name += fmt.Sprint("-node-", rank)
		}
		jobs = append(jobs, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour)),
			Labels: map[string]string{
				"skypilot-task": "true", "task-id": "0a1b2c3d", "task-name": "train", "username": "ann", "node-idx": fmt.Sprint(rank),
			},
			Annotations: map[string]string{"created-at": "2025-10-05T12:00:00.123456", "num-nodes": fmt.Sprint(nodes)},
		}})
	}
	return jobs
}

func legacyClaim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: "data-v", Namespace: namespace, CreationTimestamp: metav1.NewTime(time.Now().Add(-time.Hour)),
			Labels:      map[string]string{"skypilot-volume": "true", "volume-id": "v", "volume-name": "data", "username": "ann"},
			Annotations: map[string]string{"created-at": "2025-10-05T12:00:00.123456"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{"ReadWriteMany"}},
	}
}

func TestObjectsOfTheOriginalAreLeftAlone(t *testing.T) {
	w := newTestCluster(t)
	w.place(legacyJobs(2)...)
	w.placeClaim(legacyClaim())
	w.watch()
	w.calls()
	w.must("0a1b2c3d")
	w.mustVolume()
	w.mustCall()
}

func TestObjectsOfTheOriginalAreAdoptedIfWanted(t *testing.T) {
	for _, nodes := range []int{1, 2} {
		w := newTestCluster(t)
		w.config.AdoptLegacy = true
		w.place(legacyJobs(nodes)...)
		w.watch()
		w.must("0a1b2c3d", "adopted")
		v := w.store.TaskView("0a1b2c3d")
		if v.Submit.User != "ann" || v.Name() != "train" || v.NumNodes() != nodes || time.Since(v.CreatedAt) < time.Minute || len(v.Orphans) > 0 || v.Jobs[nodes-1] == nil {
			t.Errorf("adopted as %+v", v)
		}
		w.stop("0a1b2c3d")
		w.mustEnd("0a1b2c3d")
	}
}

func TestClaimsOfTheOriginalAreAdoptedIfWanted(t *testing.T) {
	w := newTestCluster(t)
	w.config.AdoptLegacy = true
	w.placeClaim(legacyClaim())
	w.watch()
	w.mustVolume("adopted")
	v := w.store.VolumeView("v")
	if v.VolumeRecord == nil || v.Create.User != "ann" || v.Create.Volume.Name != "data" || v.Create.Volume.Modes()[0] != "ReadWriteMany" || v.Claim == nil {
		t.Errorf("adopted as %+v", v)
	}
}
