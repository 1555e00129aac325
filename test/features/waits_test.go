package features

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// Tasks show their position in the backlog while other tasks are created one at a time.
func TestBacklogPosition(t *testing.T) {
	t.Parallel()
	ann := start(t, "--workers", "1", "--durability", "os").as(t, "ann")
	ann.limit(t, "pods") // no test in this function needs pods
	all := make([]task.Spec, 1000)
	for i := range all {
		all[i] = task.Spec{Run: "true"}
	}
	results, err := ann.SubmitAll(t.Context(), all)
	must.Succeed(t, err)
	last := results[len(results)-1].ID
	attached := ann.atTerminal(t, 0, "jobs", "logs", last)
	s := ann.awaitExplained(t, last, task.Pending, explanation{
		task.ReasonBacklog, `^waiting for its Jobs: number \d+ of \d+ in the backlog, about (\d+ s|\d+ min) at [0-9.]+ tasks/s$`, "^Wait: users take turns",
	})
	if m := s.Metadata; m.Position < 1 || m.Position > 1000 {
		t.Errorf("it is number %d", m.Position)
	}
	ann.awaitWhere(t, last, "is further on", func(later task.Status) bool { return later.Metadata.Position < s.Metadata.Position })
	attached.out.awaitMatch(t, regexp.MustCompile(`accepted: waiting for its Jobs: number \d+ of \d+ in the backlog, about \d+ (s|min) at [0-9.]+ tasks/s`))
	if _, err := ann.StopAll(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	attached.end(t).fails(t, 103)
}

// The other objects of a task have quotas, too.
func TestQuotasOfServicesAndSecrets(t *testing.T) {
	t.Parallel()
	for quota, file := range map[string]string{
		"count/services": "num_nodes: 2\nrun: 'true'",
		"count/secrets":  "run: 'true'\nsecrets: {TOKEN: x}",
	} {
		t.Run(quota, func(t *testing.T) {
			t.Parallel()
			ann := start(t).as(t, "ann")
			lift := ann.limitTo(t, quota, map[bool]string{true: "1", false: "0"}[quota == "count/secrets"]) // the server's own key is one Secret
			id := ann.submit(t, file)
			ann.awaitExplained(t, id, task.Pending, explanation{"QuotaExceeded", "exceeded quota: .*" + quota, "raise the quota"})
			lift()
			ann.await(t, id, task.Completed)
		})
	}
}

// A user suspends a Job by hand. No queue admits the Job.
func TestTaskSuspendedByHand(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, yaml("run", endless))
	job := ann.awaitJobs(t, id, 1)[0].Name
	ann.patchJob(t, job, `{"spec":{"suspend":true}}`)
	s := ann.awaitWhere(t, id, "suspended", func(s task.Status) bool { return s.Metadata.Reason == "JobSuspended" })
	if want := (explanation{"JobSuspended", "^the Job is suspended, but not by k8s-cli", "ask the queue's administrator"}); !want.of(s.Metadata) {
		t.Errorf("the task is %s, with the hint %q", sketch(s), s.Metadata.Hint)
	}
	ann.stop(t, id)
}

// No provisioner serves the class of a volume, and no Event reports this.
func TestVolumeWithoutProvisioner(t *testing.T) {
	t.Parallel()
	c := join(t)
	class := c.namespace
	ann := c.serve(t, "--allowed-runtime-classes", class).as(t, "ann")
	_, err := ann.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "nobody.example/none"}, metav1.CreateOptions{})
	must.Succeed(t, err)
	t.Cleanup(func() {
		_ = ann.StorageV1().StorageClasses().Delete(context.Background(), class, metav1.DeleteOptions{})
	})
	ann.create(t, task.Volume{Name: "data", Size: "1Gi", StorageClass: &class})
	id := ann.submit(t, "volumes: {/data: data}\nrun: 'true'")
	ann.awaitExplained(t, id, task.Pending, explanation{task.ReasonNotBound, `^volume data \(claim data-\w+\) is not bound yet, storage class ` + class, "^Check the volume with 'k8s-cli volumes status'"})
	ann.stop(t, id)
}

// The claim of a waiting task is deleted while another pod uses it, and is removed when that
// pod ends.
func TestVolumeDeletedBeforeTaskStarts(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	volume := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	uses := ann.submit(t, "volumes: {/data: data}\n"+yaml("run", endless))
	ann.await(t, uses, task.Running)
	waits := ann.submit(t, "volumes: {/data: data}\nrun: 'true'\nresources: {cpus: 1000}")
	ann.awaitExplained(t, waits, task.Pending, explanation{"Unschedulable", "1000 CPUs", "resources.cpus"})
	must.Succeed(t, ann.CoreV1().PersistentVolumeClaims(ann.namespace).Delete(t.Context(), "data-"+volume, metav1.DeleteOptions{}))
	ann.awaitExplained(t, waits, task.Pending, explanation{task.ReasonClaimDeleting, "^claim data-" + volume + " of volume data is being deleted$", "^Stop the task"})
	ann.stop(t, uses)
	ann.awaitExplained(t, waits, task.Pending, explanation{task.ReasonClaimGone, "^claim data-" + volume + " of volume data is gone$", "^Create the volume again"})
	ann.stop(t, waits)
}

// The test is the attacher of a volume driver, and reports an error.
func TestVolumeAttachErrors(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	class := "attached-" + ann.namespace
	ann.provide(t, volumeOf(class, corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "disks.example", VolumeHandle: class}}))
	ann.create(t, task.Volume{Name: "data", Size: "1Gi", StorageClass: &class})
	id := ann.submit(t, "run: 'true'\nvolumes: {/data: data}")
	eventually(t, "the volume is to be attached", func() (string, bool) {
		all, err := ann.StorageV1().VolumeAttachments().List(t.Context(), metav1.ListOptions{})
		must.Succeed(t, err)
		for _, a := range all.Items {
			if *a.Spec.Source.PersistentVolumeName == class {
				a.Status.AttachError = &storagev1.VolumeError{Time: metav1.Now(), Message: "the disk is with another machine"}
				_, err := ann.StorageV1().VolumeAttachments().UpdateStatus(t.Context(), &a, metav1.UpdateOptions{})
				return fmt.Sprint(err), err == nil
			}
		}
		return fmt.Sprintf("%d of others", len(all.Items)), false
	})
	ann.awaitExplained(t, id, task.Pending, explanation{"FailedAttachVolume", "the disk is with another machine", "^The volume may still be attached"})
	ann.stop(t, id)
}

// The machine does not have the container runtime that the task requests.
func TestPodSandboxErrors(t *testing.T) {
	t.Parallel()
	class := "nobody-" + strings.ToLower(rand.Text())
	ann := start(t, "--allowed-runtime-classes", class).as(t, "ann")
	_, err := ann.NodeV1().RuntimeClasses().Create(t.Context(), &nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Handler: "nobody"}, metav1.CreateOptions{})
	must.Succeed(t, err)
	t.Cleanup(func() { _ = ann.NodeV1().RuntimeClasses().Delete(context.Background(), class, metav1.DeleteOptions{}) })
	id := ann.submit(t, "run: 'true'\nconfig: {kubernetes: {pod_config: {spec: {runtimeClassName: "+class+"}}}}")
	ann.awaitExplained(t, id, task.Pending, explanation{"FailedCreatePodSandBox", `no runtime for "nobody" is configured`, "runtimeClassName"})
	ann.stop(t, id)
}

// The scheduler that the task requests does not exist.
func TestUnknownScheduler(t *testing.T) {
	t.Parallel()
	ann := start(t, "--allowed-schedulers", "nobody").as(t, "ann")
	id := ann.submit(t, "run: 'true'\nconfig: {kubernetes: {pod_config: {spec: {schedulerName: nobody}}}}")
	ann.awaitExplained(t, id, task.Pending, explanation{"NotScheduled", "waits for the scheduler nobody", "correct schedulerName"})
	ann.stop(t, id)
}

// An object with the name of the task's Job already exists.
func TestJobNameCollision(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.submit(t, idle) // its volume is created once the name is taken
	_, err := ann.BatchV1().Jobs(ann.namespace).Create(t.Context(), &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: ann.task(t, id).Metadata.JobName},
		Spec: batchv1.JobSpec{Suspend: new(true), Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "i"}},
		}}},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	ann.create(t, task.Volume{Name: "nowhere", Size: "1Gi"})
	ann.awaitExplained(t, id, task.Failed, explanation{"NameTaken", "an object of that name exists, but does not belong to this task", "^Submit the task again"})
}

// A user deletes the first Job of a task before the second one exists, and a finalizer
// delays the deletion.
func TestFormerJobIsBeingDeleted(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	other := ann.submit(t, yaml("run", endless))
	marker := ann.awaitJobs(t, other, 1)[0].Name
	lift := ann.limitTo(t, jobQuota, "2")
	id := ann.submit(t, "num_nodes: 2\nrun: 'true'")
	job := ann.awaitJobs(t, id, 1)[0].Name
	ann.patchJob(t, job, `{"metadata":{"finalizers":["k8s-cli.test/hold"]}}`)
	must.Succeed(t, ann.BatchV1().Jobs(ann.namespace).Delete(t.Context(), job, metav1.DeleteOptions{}))
	// The server sees changes of Jobs in order. Once the server has seen this change, the
	// server has also seen the deletion, and does not start the task with the terminating
	// Job.
	ann.patchJob(t, marker, `{"spec":{"suspend":true}}`)
	ann.awaitWhere(t, other, "suspended", func(s task.Status) bool { return s.Metadata.Reason == "JobSuspended" })
	lift()
	ann.awaitExplained(t, id, task.Pending, explanation{"Terminating", "the former object of that name is still being deleted", "^Wait: the task continues"})
	ann.patchJob(t, job, `{"metadata":{"finalizers":[]}}`)
	ann.await(t, id, task.Completed)
	ann.stop(t, other)
}

// The namespace is being deleted, with a delay.
func TestNamespaceBeingDeleted(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	maps := ann.CoreV1().ConfigMaps(ann.namespace)
	holds := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "holds", Finalizers: []string{"k8s-cli.test/hold"}}}
	if _, err := maps.Create(t.Context(), holds, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = maps.Patch(context.Background(), "holds", types.MergePatchType, []byte(`{"metadata":{"finalizers":[]}}`), metav1.PatchOptions{})
	})
	must.Succeed(t, ann.CoreV1().Namespaces().Delete(t.Context(), ann.namespace, metav1.DeleteOptions{}))
	id := ann.submit(t, "run: 'true'")
	ann.awaitExplained(t, id, task.Pending, explanation{"NamespaceTerminating", "because it is being terminated", "^The namespace is being deleted"})
}
