package submit

import (
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
)

// lost returns a cluster with the Jobs of a task that its log does not contain, and the record
// of that task.
func lost(t *testing.T, nodes int, change func(*batchv1.Job)) (*testCluster, *task.Record) {
	record := newTestCluster(t).submit("a", nodes)
	record = new(*record)
	record.Submit.Group = "g"
	w := newTestCluster(t)
	jobs := jobsOf(record)
	for _, job := range jobs {
		change(job)
	}
	w.place(jobs...)
	w.watch()
	if !slices.Contains(w.store.Keys(), taskKey("a")) {
		t.Fatalf("keys %v", w.store.Keys())
	}
	w.calls()
	return w, record
}

func TestJobsThatTheLogDoesNotKnowAreAdopted(t *testing.T) {
	w, record := lost(t, 2, func(*batchv1.Job) {})
	w.must("a", "adopted")
	got := w.store.TaskView("a")
	if got.Submit.User != record.Submit.User || got.Submit.Group != "g" || got.Name() != record.Name() || got.Hash != record.Hash || !got.CreatedAt.Equal(record.CreatedAt) {
		t.Errorf("adopted as %+v, want %+v", got.Record, record)
	}
	if got.Jobs[0] == nil || got.Jobs[1] == nil || len(got.Orphans) != 0 {
		t.Errorf("jobs %v, strays %v", got.Jobs, got.Orphans)
	}
	w.mustCall("get train-a-node-0", "create train-a")
}

func TestJobsWithoutAnOwnerAreNeverTouched(t *testing.T) {
	for name, change := range map[string]func(*batchv1.Job){
		"without annotations":       func(j *batchv1.Job) { j.Annotations = nil },
		"without a user":            func(j *batchv1.Job) { delete(j.Annotations, task.AnnotationUser) },
		"without a submission":      func(j *batchv1.Job) { delete(j.Annotations, task.AnnotationSubmission) },
		"without a time":            func(j *batchv1.Job) { delete(j.Annotations, task.AnnotationCreated) },
		"with a number of nonsense": func(j *batchv1.Job) { j.Annotations[task.AnnotationNodes] = "many" },
		"with another name":         func(j *batchv1.Job) { j.Annotations[task.AnnotationName] = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			w, _ := lost(t, 1, change)
			w.must("a")
			if calls := w.calls(); slices.ContainsFunc(calls, func(c string) bool { return c[:3] != "get" }) {
				t.Errorf("calls %q", calls)
			}
		})
	}
}

func TestAnAdoptedTaskThatLacksAJobFails(t *testing.T) {
	w := newTestCluster(t)
	w.place(jobsOf(newTestCluster(t).submit("a", 2))[0])
	w.watch()
	w.must("a", "adopted")
	if got := w.store.TaskView("a").UIDs; got[0] == "" || got[1] != "" {
		t.Errorf("UIDs %q", got)
	}
}

func TestAClaimThatTheLogDoesNotKnowIsAdopted(t *testing.T) {
	record := newTestCluster(t).create()
	w := newTestCluster(t)
	w.placeClaim(objects.Claim(record, namespace))
	w.watch()
	w.mustVolume("adopted")
	got := w.store.VolumeView("v")
	if got.Create.User != record.Create.User || got.Create.Volume.Name != record.Create.Volume.Name || got.Hash != record.Hash || got.Claim == nil {
		t.Errorf("adopted as %+v, want %+v", got.VolumeRecord, record)
	}
	w.mustVolume()
}

func TestClaimsWithoutAnOwnerAreNeverTouched(t *testing.T) {
	w := newTestCluster(t)
	claim := objects.Claim(newTestCluster(t).create(), namespace)
	claim.Annotations = map[string]string{}
	w.placeClaim(claim)
	w.watch()
	w.calls()
	w.mustVolume()
	w.mustCall()
}
