package features

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// create creates a volume and returns its id.
func (u *user) create(t *testing.T, v task.Volume) string {
	t.Helper()
	got, err := u.CreateVolume(t.Context(), v)
	if err != nil {
		t.Fatalf("create volume %s: %v", v.Name, err)
	}
	return got.ID
}

// volume returns the status of a volume.
func (u *user) volume(t *testing.T, id string) task.VolumeStatus {
	t.Helper()
	v, err := u.Volume(t.Context(), id)
	if err != nil {
		t.Fatalf("status of volume %s: %v", id, err)
	}
	return v
}

// awaitBound waits until a volume is bound.
func (u *user) awaitBound(t *testing.T, id string) (v task.VolumeStatus) {
	t.Helper()
	eventually(t, "volume "+id+" bound", func() (string, bool) {
		v = u.volume(t, id)
		return v.Phase, v.Phase == task.VolumeBound
	})
	return v
}

func (u *user) deleteVolume(t *testing.T, id string) {
	t.Helper()
	if _, err := u.DeleteVolume(t.Context(), id); err != nil {
		t.Fatalf("delete volume %s: %v", id, err)
	}
}

func TestVolumeKeepsDataBetweenTasks(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	bound := ann.awaitBound(t, id)
	if bound.StorageClass == nil || *bound.StorageClass != "standard" {
		t.Errorf("the storage class is %v, want the cluster's default", bound.StorageClass)
	}
	ann.run(t, "volumes: {/data: data}\nrun: echo written > /data/file")
	got := ann.run(t, "volumes: {/data: data}\nrun: cat /data/file")
	if got != "written\n" {
		t.Errorf("log %q", got)
	}
}

// A volume mounted at several paths is one volume, and each node mounts it, because the
// cluster has one host. The server rejects the task while other tests have added machines,
// so this test runs alone.
func TestNodesOnOneHostShareAVolume(t *testing.T) {
	ann := newUser(t)
	ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.run(t, "volumes: {/data: data}\nrun: echo written > /data/file")
	got := ann.run(t, "num_nodes: 2\nvolumes: {/mnt/a/: data, /mnt/b: data}\nrun: cat /mnt/a/file /mnt/b/file")
	want := "node-0 | written\nnode-0 | written\nnode-1 | written\nnode-1 | written\n"
	if sorted(got) != want {
		t.Errorf("log\n%s\nwant\n%s", got, want)
	}
}

// The finished Job is retained for its log, and Kubernetes does not delete a claim while a pod
// references it, even a finished pod.
func TestDeletedVolumeFreesItsStorage(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.create(t, task.Volume{Name: "used", Size: "1Gi"})
	ann.awaitBound(t, id)
	ann.run(t, "volumes: {/data: used}\nrun: echo > /data/file")
	volume := ann.claim(t, "used-"+id).Spec.VolumeName
	if volume == "" {
		t.Fatal("the claim is bound to nothing")
	}
	ann.deleteVolume(t, id)
	ann.awaitNoClaim(t, "used-"+id)
	eventually(t, "no PersistentVolume "+volume, func() (string, bool) {
		pv, err := ann.CoreV1().PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{})
		return fmt.Sprint(pv.Status.Phase, " ", err), apierrors.IsNotFound(err)
	})
}

// volumeOf returns a PersistentVolume that an administrator would create by hand. The class
// and the PersistentVolume have the same name.
func volumeOf(name string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName:       name,
			PersistentVolumeSource: source,
		},
	}
}

// provide creates a PersistentVolume, which belongs to no namespace, and deletes it at the
// end of the test.
func (c *cluster) provide(t *testing.T, pv *corev1.PersistentVolume) {
	t.Helper()
	if _, err := c.CoreV1().PersistentVolumes().Create(t.Context(), pv, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create a PersistentVolume: %v", err)
	}
	t.Cleanup(func() { c.withdraw(pv.Name) })
}

// claimByHand creates a claim that is not a volume of the server.
func (c *cluster) claimByHand(t *testing.T, name string) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if _, err := c.CoreV1().PersistentVolumeClaims(c.namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create claim %s: %v", name, err)
	}
}

// The claim of another user cannot be mounted by name: the task waits and gets no pod.
func TestAnotherUsersClaimIsNeverMounted(t *testing.T) {
	t.Parallel()
	s := start(t)
	ann := s.as(t, "a@b")
	volume := ann.create(t, task.Volume{Name: "secret", Size: "1Gi"})
	claim := "secret-" + volume
	ann.awaitBound(t, volume)
	for _, name := range []string{"bob", "a-b"} {
		bob := s.as(t, name)
		for _, file := range []string{"volumes: {/data: " + claim + "}\nrun: ls /data", "volumes: {/data: secret}\nrun: ls /data"} {
			id := bob.submit(t, file)
			if s := bob.task(t, id); s.Phase != task.Pending || s.Metadata.Reason != task.ReasonVolume {
				t.Errorf("the task of %s is %s, want pending for its volume", name, sketch(s))
			}
		}
	}
	// The controller has handled the earlier tasks once a later task has run.
	if got := ann.run(t, "volumes: {/data: "+claim+"}\nrun: echo mine"); got != "mine\n" {
		t.Errorf("the owner's task, by the literal name: %q", got)
	}
	for _, job := range s.jobs(t, "") {
		if user := job.Annotations[task.AnnotationUser]; user != "a@b" {
			t.Errorf("there is a Job of %s: %s", user, job.Name)
		}
	}
}

// A volume that is deleted while a task uses it no longer exists for its user. The claim of
// the volume is deleted when the last pod that uses the claim ends.
func TestVolumeCanBeDeletedWhileItIsInUse(t *testing.T) {
	t.Parallel()
	s := start(t, "--keep-jobs", "5s")
	ann, gate := s.as(t, "ann"), newGate(t, s.cluster)
	id := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	uses := ann.submit(t, "volumes: {/data: data}\nenvs: {GATE: "+gate.url+"}\nrun: wget -qO- $GATE; echo on > /data/file && cat /data/file")
	gate.await(t, "/", 1)
	if _, err := ann.DeleteVolume(t.Context(), id); !errors.Is(err, problem.Conflict) || !strings.Contains(err.Error(), uses) {
		t.Errorf("deletion of a volume in use: %v; want a conflict that names %s", err, uses)
	}
	if _, err := ann.ForceDeleteVolume(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if got, err := ann.Volumes(t.Context(), false); err != nil || len(got) != 0 {
		t.Errorf("after its deletion the volume is still listed: %+v, %v", got, err)
	}
	s.get(t, "ann", "/volumes/"+id).wants(t, 404, "Volume "+id+" not found")
	waits := ann.submit(t, "volumes: {/data: data}\nrun: true")
	if s := ann.task(t, waits); s.Metadata.Reason != task.ReasonVolume {
		t.Errorf("a task that names the deleted volume is %s", sketch(s))
	}
	claim := ann.claim(t, "data-"+id)
	if claim == nil {
		t.Fatal("the claim is gone though a pod uses it")
	}
	gate.opens()
	if got := ann.log(t, uses, client.LogOptions{}); got != "on\n" {
		t.Errorf("log of the task that used the volume: %q", got)
	}
	ann.await(t, uses, task.Completed)
	ann.awaitNoClaim(t, "data-"+id)
}

// A per-node volume exists, is empty, and is deleted with the node.
func TestPerNodeVolume(t *testing.T) {
	t.Parallel()
	ann := start(t, "--keep-jobs", "1s").as(t, "ann")
	id := ann.submit(t, `
num_nodes: 2
volumes:
  /scratch: {size: 1Gi, labels: {team: search}}
run: |
  ls /scratch
  echo "$NODE_RANK" >/scratch/rank
  cat /scratch/*
`)
	text := ann.log(t, id, client.LogOptions{})
	ann.await(t, id, task.Completed)
	for rank := range 2 {
		if got := linesOf(text, rank); !cmp.Equal(got, []string{fmt.Sprint(rank)}) {
			t.Errorf("node %d says %q", rank, got)
		}
	}
	ann.awaitNothing(t, id)
	eventually(t, "no claim of the task", func() (string, bool) {
		claims, err := ann.cluster.CoreV1().PersistentVolumeClaims(ann.cluster.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "team=search"})
		if err != nil {
			return err.Error(), false
		}
		return fmt.Sprintf("%d claims", len(claims.Items)), len(claims.Items) == 0
	})
}
