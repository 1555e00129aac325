package features

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// These tests check the statuses that a real kubelet sets for pods that it rejects or
// evicts.

// The kubelet rejects a pod that a scheduler bound to a node without capacity.
func TestPodRejectedByKubelet(t *testing.T) {
	t.Parallel()
	ann := start(t, "--allowed-schedulers", "the-test").as(t, "ann")
	id := ann.submit(t, "run: 'true'\nresources: {cpus: 100}\nconfig: {kubernetes: {pod_config: {spec: {schedulerName: the-test}}}}")
	pod := ann.awaitPodOf(t, id)
	err := ann.CoreV1().Pods(ann.namespace).Bind(t.Context(), &corev1.Binding{
		ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: ann.node(t)},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	ann.awaitExplained(t, id, task.Failed, explanation{"OutOfcpu", "Node didn't have enough resource: cpu", "^The machine had less capacity"})
}

// awaitPodOf waits until a task has a pod.
func (c *cluster) awaitPodOf(t *testing.T, id string) (pod corev1.Pod) {
	t.Helper()
	eventually(t, "a pod of task "+id, func() (string, bool) {
		pods := c.pods(t, id)
		if len(pods) > 0 {
			pod = pods[0]
		}
		return "", len(pods) > 0
	})
	return pod
}

// node returns the name of the cluster's node, which is this machine.
func (c *cluster) node(t *testing.T) string {
	t.Helper()
	nodes, err := c.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	must.Succeed(t, err)
	for _, n := range nodes.Items {
		if len(n.Spec.Taints) == 0 {
			return n.Name
		}
	}
	t.Fatal("no node of the cluster is open")
	return ""
}

// A system pod preempts a task. The kubelet chooses which pod it preempts, so this test runs
// alone.
func TestPodPreemptedByKubelet(t *testing.T) {
	ann := start(t).as(t, "ann")
	id := ann.submit(t, "resources: {cpus: 1.5}\n"+yaml("run", endless))
	ann.await(t, id, task.Running)
	pod := ann.pods(t, id)[0]
	_, err := ann.CoreV1().Pods(ann.namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "part"},
		Spec: corev1.PodSpec{
			NodeName: pod.Spec.NodeName, PriorityClassName: "system-node-critical",
			Containers: []corev1.Container{{
				Name: "part", Image: pod.Spec.Containers[0].Image, Command: []string{"sleep", "1"},
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
			}},
		},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	ann.awaitExplained(t, id, task.Failed, explanation{"Preempting", "^Preempted in order to admit critical pod", "^A critical pod of the cluster replaced the task's pod"})
}
