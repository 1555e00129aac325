package submit

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/memlog"
	"k8s-cli/test/testkit/must"
)

const (
	namespace   = "default"
	testTimeout = 20 * time.Second // limit of one wait, as in testkit.WithPatience
)

var (
	jobs     = schema.GroupResource{Group: "batch", Resource: "jobs"}
	claims   = schema.GroupResource{Resource: "persistentvolumeclaims"}
	services = schema.GroupResource{Resource: "services"}
	pods     = schema.GroupResource{Resource: "pods"}
)

// A testCluster is a controller between a log and a fake cluster that stores objects and does
// nothing by itself.
type testCluster struct {
	*Controller
	t         *testing.T
	cluster   *fake.Clientset
	store     *cache.Store
	log       *memlog.Log
	awaitFact chan struct{} // holds a token after a change of the store
}

// newTestCluster returns a testCluster whose log was written long ago, so that no grace period
// is left. Its read points do not expire, however slow the machine is.
func newTestCluster(t *testing.T) *testCluster {
	t.Helper()
	w := &testCluster{t: t, cluster: fake.NewClientset(), log: memlog.New(), awaitFact: make(chan struct{}, 1)}
	w.store = w.log.Store
	w.Controller = New(w.cluster, namespace, w.store, w.log, Config{Workers: 4})
	w.retryDeletionsAfter(0) // each step repeats the deletion
	w.now = func() time.Time { return time.Now().Add(time.Hour) }
	w.store.OnChange(w.Enqueue)
	w.store.OnChange(func(task.Key) {
		select {
		case w.awaitFact <- struct{}{}:
		default:
		}
	})
	created := 0
	w.cluster.PrependReactor("create", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
		if o, ok := a.(clienttesting.CreateAction).GetObject().(metav1.Object); ok && o.GetUID() == "" {
			created++
			o.SetUID(types.UID(fmt.Sprintf("%s/%d", o.GetName(), created)))
		}
		return false, nil, nil
	})
	w.cluster.PrependReactor("delete", "*", w.precondition)
	return w
}

// retryDeletionsAfter sets the time after which the controller repeats a deletion.
func (c *Controller) retryDeletionsAfter(d time.Duration) {
	c.firstRetry = d
	c.term = c.newTerm()
}

// precondition rejects a deletion with the UID of another object, as the API server does.
func (w *testCluster) precondition(a clienttesting.Action) (bool, runtime.Object, error) {
	deletion := a.(clienttesting.DeleteActionImpl)
	live, err := w.cluster.Tracker().Get(a.GetResource(), a.GetNamespace(), deletion.Name)
	if err != nil {
		return true, nil, err
	}
	options := deletion.DeleteOptions
	if options.Preconditions == nil || *options.Preconditions.UID != live.(metav1.Object).GetUID() {
		return true, nil, apierrors.NewConflict(a.GetResource().GroupResource(), deletion.Name, fmt.Errorf("precondition failed"))
	}
	if options.PropagationPolicy == nil || *options.PropagationPolicy == metav1.DeletePropagationOrphan {
		w.t.Errorf("delete %s without its dependents", deletion.Name)
	}
	return false, nil, nil
}

// setNodes makes the store know n nodes that accept any pod.
func (w *testCluster) setNodes(n int) {
	for i := range n {
		w.store.Nodes().Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node", i)}})
	}
	w.store.Nodes().MarkSynced()
}

// watch puts the objects of the cluster into the store until the test ends.
func (w *testCluster) watch() {
	w.t.Helper()
	informers := w.store.Watch(cache.SourcesIn(namespace, w.cluster))
	must.Run(w.t, informers.Run)
	must.Succeed(w.t, informers.Synced(w.t.Context()))
}

// run reconciles until the test ends.
func (w *testCluster) run() {
	w.t.Helper()
	must.Run(w.t, w.Run)
}

// await blocks until reached returns true for the view of a task.
func (w *testCluster) await(id, what string, reached func(task.View) bool) task.View {
	w.t.Helper()
	ctx, cancel := testkit.WithPatience(w.t.Context(), testTimeout)
	defer cancel()
	for {
		v, changed := w.store.WatchTask(id)
		if v.Record != nil && reached(v) {
			return v
		}
		select {
		case <-changed:
		case <-w.awaitFact: // the view of a cleaned up task has no channel
		case <-ctx.Done():
			w.t.Fatalf("task %s: no %s: %+v", id, what, v)
		}
	}
}

// awaitStore blocks until reached returns true. state is what reached has seen.
func (w *testCluster) awaitStore(what string, reached func() (state string, ok bool)) {
	w.t.Helper()
	ctx, cancel := testkit.WithPatience(w.t.Context(), testTimeout)
	defer cancel()
	for {
		state, ok := reached()
		if ok {
			return
		}
		select {
		case <-w.awaitFact:
		case <-ctx.Done():
			w.t.Fatalf("no %s: %s", what, state)
		}
	}
}

// append appends commands of a user or of an earlier controller, and admits every submission
// among them.
func (w *testCluster) append(commands ...task.Command) {
	w.t.Helper()
	for _, c := range commands {
		w.appendAlone(c)
		if c.Submit != nil {
			w.appendAlone(task.Command{Admitted: &task.Admitted{IDs: []string{c.Submit.ID}}})
		}
	}
}

// appendAlone appends commands without admitting submissions.
func (w *testCluster) appendAlone(commands ...task.Command) {
	w.t.Helper()
	w.log.Add(w.t, commands...)
}

func (w *testCluster) submit(id string, nodes int) *task.Record {
	w.t.Helper()
	w.append(task.Command{Submit: &task.Submit{
		ID: id, User: "ann", Image: "python", Task: task.Spec{Name: "train", NumNodes: nodes, Run: "true"},
	}})
	return w.record(id)
}

func (w *testCluster) stop(id string) {
	w.t.Helper()
	w.append(task.Command{Stop: &task.Stop{User: "ann", ID: id}})
}

func (w *testCluster) record(id string) *task.Record {
	w.t.Helper()
	v := w.store.TaskView(id)
	if v.Record == nil {
		w.t.Fatalf("no task %s", id)
	}
	return v.Record
}

// step reconciles a task once and returns the appended facts.
func (w *testCluster) step(id string) ([]string, error) {
	w.t.Helper()
	_, err := w.reconcile(w.t.Context(), taskKey(id))
	return w.log.Facts(), err
}

// mustStep reconciles a task once, which must succeed.
func (w *testCluster) mustStep(id string) {
	w.t.Helper()
	_, err := w.step(id)
	must.Succeed(w.t, err)
}

// must reconciles a task once and compares the appended facts.
func (w *testCluster) must(id string, want ...string) {
	w.t.Helper()
	if got, err := w.step(id); err != nil || !slices.Equal(got, want) {
		w.t.Fatalf("reconcile %s: facts %q, error %v, want %q", id, got, err, want)
	}
}

// mustFail reconciles a task once, which fails with kind or, if kind is nil, with any error. It
// compares the appended facts.
func (w *testCluster) mustFail(id string, kind error, want ...string) {
	w.t.Helper()
	if got, err := w.step(id); err == nil || kind != nil && !errors.Is(err, kind) || !slices.Equal(got, want) {
		w.t.Fatalf("reconcile %s: facts %q, error %v, want %q and the error %v", id, got, err, want, kind)
	}
}

func taskKey(id string) task.Key { return task.Key{Kind: task.KindTask, ID: id} }

// jobsByName returns the Jobs of the cluster by name.
func (w *testCluster) jobsByName() map[string]batchv1.Job {
	w.t.Helper()
	list, err := w.cluster.BatchV1().Jobs(namespace).List(w.t.Context(), metav1.ListOptions{})
	must.Succeed(w.t, err)
	all := map[string]batchv1.Job{}
	for _, j := range list.Items {
		all[j.Name] = j
	}
	return all
}

// wantJobs checks the number of Jobs in the cluster.
func (w *testCluster) wantJobs(want int) {
	w.t.Helper()
	if all := w.jobsByName(); len(all) != want {
		w.t.Errorf("%d Jobs, want %d: %v", len(all), want, all)
	}
}

// place creates Jobs in the cluster without the controller.
func (w *testCluster) place(jobs ...*batchv1.Job) {
	w.t.Helper()
	for _, j := range jobs {
		if j.UID == "" {
			j.UID = types.UID("placed/" + j.Name)
		}
		must.Succeed(w.t, w.cluster.Tracker().Add(j))
	}
}

// jobsOf returns the Jobs that a controller creates for a record.
func jobsOf(r *task.Record) []*batchv1.Job { return objects.Jobs(r, namespace) }

// remove deletes a Job from the cluster, as another client could.
func (w *testCluster) remove(name string) {
	w.t.Helper()
	must.Succeed(w.t, w.cluster.Tracker().Delete(batchv1.SchemeGroupVersion.WithResource("jobs"), namespace, name))
}

// change changes a Job of the cluster, as the Job controller or a user does.
func (w *testCluster) change(name string, set func(*batchv1.Job)) {
	w.t.Helper()
	job := w.jobsByName()[name]
	set(&job)
	if _, err := w.cluster.BatchV1().Jobs(namespace).Update(w.t.Context(), &job, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func over(condition batchv1.JobConditionType) func(*batchv1.Job) {
	return func(j *batchv1.Job) {
		j.Status.Conditions = []batchv1.JobCondition{{
			Type: condition, Status: corev1.ConditionTrue, Reason: "Because", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Minute)),
		}}
	}
}

// startPod adds the running pod of a Job.
func (w *testCluster) startPod(job string) {
	w.t.Helper()
	owner := w.jobsByName()[job]
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: job + "-pod", Namespace: namespace, Labels: owner.Labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&owner, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}},
	}
	if _, err := w.cluster.CoreV1().Pods(namespace).Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// pod returns the pod that startPod added for a Job.
func (w *testCluster) pod(job string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.cluster.CoreV1().Pods(namespace).Get(w.t.Context(), job+"-pod", metav1.GetOptions{})
	must.Succeed(w.t, err)
	return pod
}

// changePod changes the pod of a Job, as the kubelet does.
func (w *testCluster) changePod(job string, set func(*corev1.Pod)) {
	w.t.Helper()
	pod := w.pod(job)
	set(pod)
	if _, err := w.cluster.CoreV1().Pods(namespace).Update(w.t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// failPod ends the container of the pod of a Job.
func (w *testCluster) failPod(job string, how corev1.ContainerStateTerminated) {
	w.t.Helper()
	w.changePod(job, func(p *corev1.Pod) {
		p.Status.Phase, p.Status.ContainerStatuses[0].State = corev1.PodFailed, corev1.ContainerState{Terminated: &how}
	})
}

// failing makes the next n calls of a verb fail with err; n below 0 means all calls.
func (w *testCluster) failing(verb, resource string, n int, err error) {
	var mu sync.Mutex
	w.cluster.PrependReactor(verb, resource, func(clienttesting.Action) (bool, runtime.Object, error) {
		mu.Lock()
		defer mu.Unlock()
		if n == 0 {
			return false, nil, nil
		}
		n--
		return true, nil, err
	})
}

// calls returns the controller's requests to the cluster since the last call, without watches
// and lists.
func (w *testCluster) calls() (calls []string) {
	for _, a := range w.cluster.Actions() {
		name := ""
		switch a := a.(type) {
		case clienttesting.CreateAction:
			name = a.GetObject().(metav1.Object).GetName()
		case clienttesting.DeleteAction:
			name = a.GetName()
		case clienttesting.PatchAction:
			name = a.GetName()
		case clienttesting.GetAction:
			name = a.GetName()
		default:
			continue
		}
		calls = append(calls, a.GetVerb()+" "+name)
	}
	w.cluster.ClearActions()
	return calls
}

// mustCall compares the requests to the cluster since the last call.
func (w *testCluster) mustCall(want ...string) {
	w.t.Helper()
	if got := w.calls(); !slices.Equal(got, want) {
		w.t.Errorf("calls %q, want %q", got, want)
	}
}
