package submit

import (
	"errors"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// services returns the Services of the cluster by name, with the UIDs of the Jobs that own
// them.
func (w *testCluster) services() map[string]string {
	w.t.Helper()
	list, err := w.cluster.CoreV1().Services(namespace).List(w.t.Context(), metav1.ListOptions{})
	must.Succeed(w.t, err)
	all := map[string]string{}
	for _, s := range list.Items {
		all[s.Name] = string(s.OwnerReferences[0].UID)
	}
	return all
}

func TestSeveralNodesHaveAService(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 2)
	w.submit("b", 1)
	w.must("a", "applied")
	w.must("b", "applied")
	first := string(w.jobsByName()["train-a-node-0"].UID)
	if got := w.services(); len(got) != 1 || got["train-a"] != first {
		t.Errorf("services %v, want one that belongs to %s", got, first)
	}
	w.mustCall("create train-a-node-0", "create train-a-node-1", "create train-a", "create train-b")
}

// A controller may crash between creating the Service and appending the fact.
func TestAServiceThatIsThereIsOurs(t *testing.T) {
	w := newTestCluster(t)
	r := w.submit("a", 2)
	w.place(jobsOf(r)...)
	w.addService(objects.Service(r, namespace, "placed/train-a-node-0"))
	w.must("a", "applied")
}

func (w *testCluster) addService(s *corev1.Service) {
	w.t.Helper()
	must.Succeed(w.t, w.cluster.Tracker().Add(s))
}

func TestAServiceThatIsNotOurs(t *testing.T) {
	t.Run("somebody else's", func(t *testing.T) {
		w := newTestCluster(t)
		r := w.submit("a", 2)
		other := objects.Service(r, namespace, "x")
		other.Annotations[task.AnnotationSubmission] = "other"
		w.addService(other)
		w.must("a", "rejected")
		if r := w.record("a"); r.Phase != task.Failed || r.Reason != "NameTaken" {
			t.Errorf("record %+v", r)
		}
		if _, err := w.step("a"); !errors.Is(err, errDeletionPending) || len(w.jobsByName()) > 0 {
			t.Errorf("%v; jobs %v are left", err, w.jobsByName())
		}
	})
	t.Run("a former Job's, which is going", func(t *testing.T) {
		w := newTestCluster(t)
		w.addService(objects.Service(w.submit("a", 2), namespace, "former"))
		w.mustFail("a", errDeleting, "blocked")
		must.Succeed(t, w.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("services"), namespace, "train-a"))
		w.must("a", "applied")
	})
}

// An exceeded quota is retried; a permanent rejection ends all nodes.
func TestAServiceThatIsRefused(t *testing.T) {
	w := newTestCluster(t)
	w.submit("a", 3)
	w.failing("create", "services", 1, apierrors.NewForbidden(services, "train-a", errors.New("exceeded quota: no room")))
	w.mustFail("a", nil, "blocked")
	if r := w.record("a"); r.Reason != "QuotaExceeded" {
		t.Errorf("record %+v", r)
	}
	w.failing("create", "services", -1, apierrors.NewForbidden(services, "train-a", errors.New("not you")))
	w.must("a", "rejected")
	w.mustFail("a", errDeletionPending)
	w.must("a", "cleaned_up")
	w.wantJobs(0)
}

// A log was lost, and its controller crashed before it created the Service.
func TestAnAdoptedTaskHasAService(t *testing.T) {
	w := newTestCluster(t)
	w.place(jobsOf(newTestCluster(t).submit("a", 2))...)
	w.watch()
	w.must("a", "adopted")
	if got := w.services(); got["train-a"] != "placed/train-a-node-0" {
		t.Errorf("services %v", got)
	}
}

func TestAnAdoptedTaskMayBeWithoutAService(t *testing.T) {
	w := newTestCluster(t)
	w.place(jobsOf(newTestCluster(t).submit("a", 2))...)
	w.watch()
	w.failing("create", "services", -1, apierrors.NewForbidden(services, "train-a", errors.New("not you")))
	w.must("a", "adopted")
}

// address gives the pod of a Job of task a an address.
func (w *testCluster) address(job, address string) {
	w.t.Helper()
	w.addressOf("a", job, address)
}

func (w *testCluster) addressOf(id, job, address string) {
	w.t.Helper()
	w.changePod(job, func(p *corev1.Pod) { p.Status.PodIP = address })
	w.await(id, "address", func(v task.View) bool {
		return slices.ContainsFunc(v.Pods, func(p *task.Pod) bool { return p != nil && p.Address == address })
	})
}

// startedNodes returns a testCluster whose task a runs on two nodes with addresses.
func startedNodes(t *testing.T) *testCluster {
	t.Helper()
	w := applied(t, 2)
	w.must("a")
	w.awaitRunning(2)
	w.startPod("train-a-node-1")
	w.await("a", "pod", func(v task.View) bool { return v.Pods[1] != nil })
	w.address("train-a-node-1", "10.0.0.2")
	w.must("a", "started")
	w.startPod("train-a-node-0")
	w.await("a", "pod", func(v task.View) bool { return v.Pods[0] != nil })
	w.must("a")
	if told := w.pod("train-a-node-1").Annotations[task.AnnotationAddresses]; told != "" {
		t.Fatalf("a node was told %q before all have an address", told)
	}
	w.address("train-a-node-0", "10.0.0.1")
	return w
}

func TestPeerAddressesArePublished(t *testing.T) {
	w := startedNodes(t)
	w.must("a")
	for _, job := range []string{"train-a-node-0", "train-a-node-1"} {
		if told := w.pod(job).Annotations[task.AnnotationAddresses]; told != "10.0.0.1\n10.0.0.2" {
			t.Errorf("the pod of %s was told %q", job, told)
		}
	}
	w.await("a", "introduction", func(v task.View) bool { return v.Pods[0].Addresses != 0 && v.Pods[1].Addresses != 0 })
	w.calls()
	w.must("a")
	w.mustCall()
}

// A permanent rejection by the API server ends the task; other errors are retried.
func TestPeerAddressesThatCannotBePublished(t *testing.T) {
	w := startedNodes(t)
	w.failing("patch", "pods", 1, apierrors.NewNotFound(pods, "train-a-node-0-pod"))
	w.must("a")
	w.failing("patch", "pods", 1, apierrors.NewServiceUnavailable("later"))
	if facts, err := w.step("a"); !apierrors.IsServiceUnavailable(err) || len(facts) > 0 {
		t.Errorf("facts %q, %v", facts, err)
	}
	w.failing("patch", "pods", -1, apierrors.NewForbidden(pods, "train-a-node-0-pod", errors.New("not you")))
	w.must("a", "ended")
	if r := w.record("a"); r.Phase != task.Failed || r.Reason != "Forbidden" {
		t.Errorf("record %+v", r)
	}
}

func TestOnlyNodesThatDoNotKnowAreTold(t *testing.T) {
	w := startedNodes(t)
	w.changePod("train-a-node-0", func(p *corev1.Pod) {
		p.Annotations = map[string]string{task.AnnotationAddresses: "10.0.0.1\n10.0.0.2"}
	})
	w.await("a", "introduction", func(v task.View) bool { return v.Pods[0].Addresses != 0 })
	w.calls()
	w.must("a")
	w.mustCall("patch train-a-node-1-pod")
}

// The pod of a node that has completed may be gone when another node starts again.
func TestANodeThatRestartsBesideAGonePodIsTold(t *testing.T) {
	w := startedNodes(t)
	w.must("a")
	names := w.record("a").JobNames()
	w.change(names[0], over(batchv1.JobComplete))
	w.await("a", "end of node 0", func(v task.View) bool { return v.Jobs[0].Phase == task.Completed })
	for _, job := range names {
		must.Succeed(t, w.cluster.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), namespace, w.pod(job).Name))
	}
	w.await("a", "pods gone", func(v task.View) bool { return v.Pods[0] == nil && v.Pods[1] == nil })
	w.startPod(names[1])
	w.await("a", "new pod", func(v task.View) bool { return v.Pods[1] != nil })
	w.address(names[1], "10.9.9.9")
	w.mustStep("a")
	if told := w.pod(names[1]).Annotations[task.AnnotationAddresses]; told != "10.0.0.1\n10.9.9.9" {
		t.Errorf("the node was told %q", told)
	}
}
