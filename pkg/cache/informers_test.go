package cache

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/policy"
	"k8s-cli/test/testkit/must"
)

const namespace = "default"

// clusterJob returns the Job of a submission as a Kubernetes object.
func clusterJob(c task.Command) *batchv1.Job {
	s := c.Submit
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: task.JobName(s.Task.Name, s.ID, 0, 1), Namespace: namespace, UID: "job",
		Labels:      task.JobLabels(s.User, s.Task.Name, s.ID, 0),
		Annotations: map[string]string{task.AnnotationUser: s.User, task.AnnotationSubmission: s.Hash()},
	}}
}

func clusterPod(j *batchv1.Job) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: j.Name + "-x", Namespace: namespace, UID: "pod", Labels: j.Labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(j, batchv1.SchemeGroupVersion.WithKind("Job"))},
	}}
}

// awaitWatches returns a function that waits until count watches of one kind have begun. The
// fake cluster reports a deletion only to watches that began before it.
func awaitWatches(t *testing.T, k8s *fake.Clientset, resource string) func(count int) {
	t.Helper()
	begun := make(chan struct{}, 100)
	k8s.PrependWatchReactor(resource, func(a clienttesting.Action) (bool, watch.Interface, error) {
		w, err := k8s.Tracker().Watch(a.GetResource(), a.GetNamespace(), a.(clienttesting.WatchActionImpl).ListOptions)
		begun <- struct{}{}
		return true, w, err
	})
	return func(count int) {
		t.Helper()
		for range count {
			<-begun
		}
	}
}

// watch starts the informers; they stop when the test ends.
func (p *testStore) watch(k8s *fake.Clientset) *Informers {
	p.t.Helper()
	informers := p.Watch(SourcesIn(namespace, k8s))
	must.Run(p.t, informers.Run)
	return informers
}

func TestInformersUpdateTheStore(t *testing.T) {
	c := submit("ann", "a")
	j := clusterJob(c)
	k8s := fake.NewClientset(j, &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: namespace}})
	p, watched := newTestStore(t, c, mounting("ann", "b", "data")), awaitWatches(t, k8s, "persistentvolumeclaims")
	must.Succeed(t, p.watch(k8s).Synced(t.Context()))
	if v := p.view("a"); v.Jobs[0] == nil || p.view("b").Resolved["data"] != "data" {
		t.Fatalf("what was there at first is not in the store: %+v", v)
	}
	pods, jobs := k8s.CoreV1().Pods(namespace), k8s.BatchV1().Jobs(namespace)
	accepted := func(_ any, err error) {
		t.Helper()
		must.Succeed(t, err)
	}
	accepted(pods.Create(t.Context(), clusterPod(j), metav1.CreateOptions{}))
	p.await("a", "pod", func(v task.View) bool { return v.Pods[0] != nil })

	done := j.DeepCopy()
	done.Status.Conditions = []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}
	accepted(jobs.Update(t.Context(), done, metav1.UpdateOptions{}))
	p.await("a", "end of the Job", func(v task.View) bool { return v.Jobs[0].Phase == task.Completed })

	accepted(nil, jobs.Delete(t.Context(), j.Name, metav1.DeleteOptions{}))
	p.await("a", "deletion of the Job", func(v task.View) bool { return v.Jobs[0] == nil })
	watched(1)
	accepted(nil, k8s.CoreV1().PersistentVolumeClaims(namespace).Delete(t.Context(), "data", metav1.DeleteOptions{}))
	p.await("b", "deletion of the claim", func(v task.View) bool { return len(v.Missing) == 1 })
}

// The claim of an ephemeral volume is named after its pod, and other users may know that name.
func TestClaimsOfPodsAndOfTheReleaseAreNotMountedByName(t *testing.T) {
	claim := func(name string, meta metav1.ObjectMeta) *corev1.PersistentVolumeClaim {
		meta.Name, meta.Namespace = name, namespace
		return &corev1.PersistentVolumeClaim{ObjectMeta: meta}
	}
	controller := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p", Controller: new(true), BlockOwnerDeletion: new(true)}}
	k8s := fake.NewClientset(
		claim("train-a-x-ephemeral-0", metav1.ObjectMeta{
			OwnerReferences: controller, Labels: task.JobLabels("ann", "train", "a", 0), Annotations: map[string]string{task.AnnotationUser: "ann"},
		}),
		claim("bare-ephemeral-0", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p", UID: "p"}}, Labels: map[string]string{"team": "search"}}),
		claim("left-ephemeral-0", metav1.ObjectMeta{Annotations: map[string]string{task.AnnotationUser: "ann"}}), // its pod was deleted, and someone removed the owner reference
		claim("k8s-cli-log", metav1.ObjectMeta{Labels: map[string]string{"app.kubernetes.io/name": "k8s-cli-server"}}),
		claim("existing", metav1.ObjectMeta{}),
		claim("data", metav1.ObjectMeta{}),
	)
	p := newTestStore(t)
	p.RestrictClaims(policy.Claims{Reserved: []string{"existing"}})
	all := []string{"bare-ephemeral-0", "data", "existing", "k8s-cli-log", "left-ephemeral-0", "train-a-x-ephemeral-0"}
	p.apply(mounting("mallory", "m", all...), mounting("ann", "a", all...))
	must.Succeed(t, p.watch(k8s).Synced(t.Context()))
	for user, want := range map[string]string{"mallory": "data", "ann": "data left-ephemeral-0"} {
		v := p.view(user[:1])
		if got := strings.Join(slices.Sorted(maps.Keys(v.Resolved)), " "); got != want {
			t.Errorf("a task of %s mounts %q, want %q", user, got, want)
		}
		v = p.Preview(&task.Record{Submit: *mounting(user, "x", all...).Submit})
		if got := strings.Join(slices.Sorted(maps.Keys(v.Resolved)), " "); got != want || len(v.Missing) != len(all)-len(v.Resolved) {
			t.Errorf("a preview for %s mounts %q and lacks %q, want %q", user, got, v.Missing, want)
		}
	}
}

func TestOnlyOursAreWatched(t *testing.T) {
	k8s := fake.NewClientset()
	selectors := make(chan string, 100)
	k8s.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		selectors <- a.GetResource().Resource + " " + a.(clienttesting.ListAction).GetListRestrictions().Labels.String()
		return false, nil, nil
	})
	must.Succeed(t, newTestStore(t).watch(k8s).Synced(t.Context()))
	got := map[string]bool{}
	for range 3 {
		got[<-selectors] = true
	}
	for _, want := range []string{"jobs skypilot-task=true", "pods skypilot-task=true", "persistentvolumeclaims "} {
		if !got[want] {
			t.Errorf("lists %v, want %q", got, want)
		}
	}
}

func TestSyncedEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k8s := fake.NewClientset()
	var mu sync.Mutex
	listed := map[string]bool{}
	k8s.PrependReactor("list", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if listed[a.GetResource().Resource] {
			cancel() // the failure of the first attempt is recorded by now
		}
		listed[a.GetResource().Resource] = true
		return true, nil, errors.New("connection refused")
	})
	p := newTestStore(t)
	informers := p.watch(k8s)
	if err := informers.Synced(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("synced: %v", err)
	}
	if _, err := p.ClusterLag(); err == nil {
		t.Error("nobody notices that the API server does not answer")
	}
}

// An informer drops every record of its sink that a new list no longer contains.
func TestSinksReturnTheirRecords(t *testing.T) {
	one, two := submit("ann", "a"), submit("ann", "b")
	p := newTestStore(t, one, two)
	jobs, pods := jobSink{p.Store}, podSink{p.Store}
	for _, c := range []task.Command{one, two} {
		j := job(c, 0, task.Running)
		jobs.Put(j)
		pods.Put(&convert.Pod{Pod: pod(j, 1, task.Running)})
	}
	if len(jobs.All()) != 2 || len(pods.All()) != 2 {
		t.Fatalf("Jobs %v, pods %v", jobs.All(), pods.All())
	}
	for _, j := range jobs.All() {
		if jobs.Key(j) == job(one, 0, task.Running).Name {
			jobs.Drop(j)
		}
	}
	for _, x := range pods.All() {
		if x.TaskID == "a" {
			pods.Drop(x)
		}
	}
	if a, b := p.view("a"), p.view("b"); a.Jobs[0] != nil || a.Pods[0] != nil || b.Jobs[0] == nil || b.Pods[0] == nil {
		t.Errorf("views %+v, %+v", a, b)
	}
	if len(jobs.All()) != 1 || len(pods.All()) != 1 {
		t.Errorf("Jobs %v, pods %v", jobs.All(), pods.All())
	}
}
