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
	ann := start(t).as(t, "ann@example.com")
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

func TestDeletedVolumeFreesItsStorage(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	for _, tt := range []struct {
		name string
		use  func(t *testing.T, file string)
	}{
		{"that no task used", func(*testing.T, string) {}},
		{"that a stopped task used", func(t *testing.T, file string) {
			id := ann.submit(t, file+yaml("run", endless))
			ann.await(t, id, task.Running)
			ann.stop(t, id)
		}},
		// The finished Job is retained for its log, and Kubernetes does not delete a claim
		// while a pod references it, even a finished pod.
		{"that a finished task used", func(t *testing.T, file string) { ann.run(t, file+"run: echo > /data/file") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			name := strings.ReplaceAll(tt.name, " ", "-")
			id := ann.create(t, task.Volume{Name: name, Size: "1Gi"})
			ann.awaitBound(t, id)
			tt.use(t, "volumes: {/data: "+name+"}\n")
			volume := ann.claim(t, name+"-"+id).Spec.VolumeName
			if volume == "" {
				t.Fatal("the claim is bound to nothing")
			}
			ann.deleteVolume(t, id)
			ann.awaitNoClaim(t, name+"-"+id)
			eventually(t, "no PersistentVolume "+volume, func() (string, bool) {
				pv, err := ann.CoreV1().PersistentVolumes().Get(t.Context(), volume, metav1.GetOptions{})
				return fmt.Sprint(pv.Status.Phase, " ", err), apierrors.IsNotFound(err)
			})
		})
	}
}

func TestUsersHaveVolumesOfTheirOwn(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, name := range []string{"a@b", "a-b"} {
		u := s.as(t, name)
		u.create(t, task.Volume{Name: "data", Size: "1Gi"})
		u.run(t, "volumes: {/data: data}\nrun: ls /data; echo "+name+" > /data/file")
	}
	for _, name := range []string{"a@b", "a-b"} {
		if got := s.as(t, name).run(t, "volumes: {/data: data}\nrun: cat /data/*"); got != name+"\n" {
			t.Errorf("the volume of %s holds %q", name, got)
		}
	}
}

// volumeOf returns a PersistentVolume that an administrator would create by hand. The class
// and the PersistentVolume have the same name.
func volumeOf(name, size string, source corev1.PersistentVolumeSource) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity:               corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)},
			AccessModes:            []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			StorageClassName:       name,
			PersistentVolumeSource: source,
		},
	}
}

// An administrator creates a PersistentVolume by hand, in a class without a provisioner. A
// user's claim of that class binds to it.
func TestClaimBindsToAnAdministratorsVolume(t *testing.T) {
	t.Parallel()
	ann := start(t, "--keep-jobs", "1s").as(t, "ann")
	class := "by-hand-" + ann.namespace
	pv := volumeOf(class, "10Gi", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: t.TempDir()}})
	pv.Spec.AccessModes = append(pv.Spec.AccessModes, corev1.ReadWriteMany)
	pv.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	ann.provide(t, pv)

	tooLarge := ann.create(t, task.Volume{Name: "too-large", Size: "11Gi", StorageClass: new(class)})
	otherMode := ann.create(t, task.Volume{Name: "other-mode", Size: "1Gi", StorageClass: new(class), AccessModes: []string{"ReadOnlyMany"}})
	id := ann.create(t, task.Volume{Name: "data", Size: "5Gi", StorageClass: new(class), AccessModes: []string{"ReadWriteMany"}})
	v := ann.awaitBound(t, id)
	if v.StorageClass == nil || *v.StorageClass != class || !cmp.Equal(v.AccessModes, []string{"ReadWriteMany"}) || v.Size != "5Gi" {
		t.Errorf("the volume is %+v", v)
	}
	if got := ann.claim(t, "data-"+id).Spec.VolumeName; got != pv.Name {
		t.Errorf("the claim is bound to %q, want %s", got, pv.Name)
	}
	if got := ann.run(t, "volumes: {/data: data}\nrun: echo kept > /data/file; cat /data/file"); got != "kept\n" {
		t.Errorf("log %q", got)
	}
	for _, id := range []string{tooLarge, otherMode} {
		if v := ann.volume(t, id); v.Phase != task.VolumePending {
			t.Errorf("volume %s, which nothing satisfies, is %s", v.Name, v.Phase)
		}
	}
	// A PersistentVolume with the reclaim policy Retain remains.
	ann.deleteVolume(t, id)
	ann.awaitNoClaim(t, "data-"+id)
	eventually(t, "the PersistentVolume is released", func() (string, bool) {
		got, err := ann.CoreV1().PersistentVolumes().Get(t.Context(), pv.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(got.Status.Phase), got.Status.Phase == corev1.VolumeReleased
	})
}

// A PersistentVolume without a class is for claims that request no class. In a cluster with
// a default class, the claim must request the empty class explicitly.
func TestClaimWithoutAClassBindsToAVolumeWithoutOne(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	pv := volumeOf("no-class-"+ann.namespace, "10", corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: t.TempDir()}})
	pv.Spec.StorageClassName = ""
	ann.provide(t, pv)
	id := ann.create(t, task.Volume{Name: "data", Size: "0.003k", StorageClass: new("")})
	if v := ann.awaitBound(t, id); v.StorageClass == nil || *v.StorageClass != "" {
		t.Errorf("the storage class is %v, want an empty one", v.StorageClass)
	}
	if got := ann.claim(t, "data-"+id).Spec.VolumeName; got != pv.Name {
		t.Errorf("the claim is bound to %q, want %s", got, pv.Name)
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

func TestUnsatisfiableVolumeStaysPending(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	id := ann.create(t, task.Volume{Name: "data", Size: "1Gi", StorageClass: new("nobody-provides")})
	claim := ann.awaitClaim(t, "data-"+id)
	waits := ann.submit(t, "volumes: {/data: data}\nrun: true")
	s := ann.awaitWhere(t, waits, "pending with a reason", func(s task.Status) bool { return s.Metadata.Reason == "ProvisioningFailed" })
	if s.Phase != task.Pending {
		t.Errorf("the task is %s", sketch(s))
	}
	if v := ann.volume(t, id); v.Phase != task.VolumePending || v.Metadata.ClaimName != claim.Name {
		t.Errorf("the volume is %+v", v)
	}
}

func TestClaimIsMountedByItsName(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	ann.claimByHand(t, "by-hand")
	if got := ann.run(t, "volumes: {/data: by-hand}\nrun: echo x > /data/file; ls /data"); got != "file\n" {
		t.Errorf("log %q", got)
	}
	// A volume of the user with that name takes precedence.
	ann.create(t, task.Volume{Name: "by-hand", Size: "1Gi"})
	if got := ann.run(t, "volumes: {/data: by-hand}\nrun: ls /data; echo end"); got != "end\n" {
		t.Errorf("log %q, want that of the empty volume", got)
	}
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

func TestTaskStartsWhenItsVolumeIsCreated(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	byName := ann.submit(t, "volumes: {/data: later}\nrun: echo > /data/file; ls /data")
	literal := ann.submit(t, "volumes: {/data: by-hand-later}\nrun: echo literal")
	for _, id := range []string{byName, literal} {
		if s := ann.task(t, id); s.Metadata.Reason != task.ReasonVolume || !strings.Contains(s.Metadata.Message, "later") {
			t.Errorf("the task is %s, want it to name the volume it waits for", sketch(s))
		}
	}
	if n := len(ann.jobs(t, "")); n != 0 {
		t.Errorf("there are %d Jobs already", n)
	}
	ann.create(t, task.Volume{Name: "later", Size: "1Gi"})
	ann.claimByHand(t, "by-hand-later")
	for id, want := range map[string]string{byName: "file\n", literal: "literal\n"} {
		if got := ann.log(t, id, client.LogOptions{}); got != want {
			t.Errorf("log %q, want %q", got, want)
		}
		ann.await(t, id, task.Completed)
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
	if _, err := ann.DeleteVolume(t.Context(), id); !errors.Is(err, task.ErrConflict) || !strings.Contains(err.Error(), uses) {
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

func TestVolumesWithEqualNames(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	older, err := ann.CreateVolume(t.Context(), task.Volume{Name: "data", Size: "1Gi"})
	if err != nil || len(older.Warnings) != 0 {
		t.Fatalf("the first: %+v, %v", older, err)
	}
	newer, err := ann.CreateVolume(t.Context(), task.Volume{Name: "data", Size: "2Gi"})
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(newer.Warnings, " "); !strings.Contains(text, "data") {
		t.Errorf("the warnings about the second are %q, want one that names it", newer.Warnings)
	}
	ann.awaitClaim(t, "data-"+older.ID)
	ann.awaitClaim(t, "data-"+newer.ID)
	mounts := func(which, want string) {
		t.Helper()
		id := ann.submit(t, "volumes: {/data: data}\nresources: {image_id: registry.invalid/none}\nrun: true")
		job := ann.awaitJobs(t, id, 1)[0]
		if got := job.Spec.Template.Spec.Volumes[1].PersistentVolumeClaim; got == nil || got.ClaimName != "data-"+want {
			t.Errorf("the task mounts %+v, want the %s volume, data-%s", got, which, want)
		}
		ann.stop(t, id)
	}
	mounts("older", older.ID)
	ann.deleteVolume(t, older.ID)
	mounts("newer", newer.ID)
}

// A name means its oldest volume even while the cluster does not accept the claim of that
// volume yet. With a newer volume, the task would get other data.
func TestTaskMountsOldestVolumeOfName(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	const none = "nobody-provides.storageclass.storage.k8s.io/persistentvolumeclaims"
	lift := ann.limit(t, none)
	older := ann.create(t, task.Volume{Name: "data", Size: "1Gi", StorageClass: new("nobody-provides")})
	newer := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.awaitBound(t, newer)
	eventually(t, "the older volume waits for its quota", func() (string, bool) {
		v := ann.volume(t, older)
		return fmt.Sprintf("%+v", v), v.Phase == task.VolumePending && v.Metadata.Reason == "QuotaExceeded"
	})
	id := ann.submit(t, "volumes: {/data: data}\nrun: true")
	// The controller has handled this task once a later task has run.
	ann.run(t, "run: true")
	if s := ann.task(t, id); s.Phase != task.Pending || s.Metadata.Reason != task.ReasonVolume || len(ann.jobs(t, id)) != 0 {
		t.Errorf("while the older volume waits the task is %s, want pending for its volume", sketch(s))
	}
	lift()
	if got := ann.awaitJobs(t, id, 1)[0].Spec.Template.Spec.Volumes[1].PersistentVolumeClaim.ClaimName; got != "data-"+older {
		t.Errorf("the task mounts %s, want the older volume, data-%s", got, older)
	}
}

// If an administrator deletes a claim by hand, the data of the volume is lost. The status of
// the volume says so, and the server does not create another claim.
func TestVolumeWhoseClaimWasRemovedByHandIsLost(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	id := ann.create(t, task.Volume{Name: "data", Size: "1Gi"})
	ann.awaitBound(t, id)
	if err := ann.CoreV1().PersistentVolumeClaims(ann.namespace).Delete(t.Context(), "data-"+id, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the volume is lost", func() (string, bool) {
		v := ann.volume(t, id)
		return v.Phase, v.Phase == task.VolumeLost
	})
	ann.deleteVolume(t, id)
	if got, err := ann.Volumes(t.Context(), false); err != nil || len(got) != 0 {
		t.Errorf("after its deletion the volume is still listed: %+v, %v", got, err)
	}
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
