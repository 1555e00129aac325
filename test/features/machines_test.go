package features

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// A machine is a node of the cluster whose kubelet is the test. The scheduler and all
// controllers treat it as a node, and the test sets the status of its pods. Only tasks that
// tolerate the taint of the machine run on the machine.
type machine struct {
	*cluster
	name string
}

const machineTaint = "k8s-cli.test/of" // the value of the taint and of the label is the namespace

// newMachine returns a ready machine with this capacity.
func (c *cluster) newMachine(t *testing.T, name string, labels map[string]string, room corev1.ResourceList) *machine {
	t.Helper()
	m := &machine{c, c.namespace + "-" + name}
	all := map[string]string{machineTaint: c.namespace, corev1.LabelHostname: m.name}
	for key, value := range labels {
		all[key] = value
	}
	room[corev1.ResourcePods] = resource.MustParse("10")
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.name, Labels: all,
			Annotations: map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
		},
		Spec:   corev1.NodeSpec{Taints: []corev1.Taint{{Key: machineTaint, Value: c.namespace, Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{readiness(corev1.ConditionTrue)}},
	}
	if _, err := c.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatalf("create a node: %v", err)
	}
	t.Cleanup(m.remove)
	return m
}

func readiness(s corev1.ConditionStatus) corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{Type: corev1.NodeReady, Status: s, Reason: "KubeletTest", LastHeartbeatTime: now, LastTransitionTime: now}
}

func (m *machine) remove() {
	_ = m.CoreV1().Nodes().Delete(context.Background(), m.name, metav1.DeleteOptions{})
}

// ready sets the Ready condition of the machine.
func (m *machine) ready(t *testing.T, s corev1.ConditionStatus) {
	t.Helper()
	m.patch(t, map[string]any{"status": map[string]any{"conditions": []any{readiness(s)}}}, "status")
}

func (m *machine) patch(t *testing.T, change map[string]any, part ...string) {
	t.Helper()
	if _, err := m.CoreV1().Nodes().Patch(t.Context(), m.name, types.StrategicMergePatchType, must.Encode(t, change), metav1.PatchOptions{}, part...); err != nil {
		t.Fatalf("patch a node: %v", err)
	}
}

// file returns a task file for the machine with additional fields.
func (m *machine) file(fields string) string {
	return fmt.Sprintf("run: 'true'\n%s\nconfig: {kubernetes: {pod_config: {spec: {nodeSelector: {%s: %s}, tolerations: [{key: %s, operator: Exists}]}}}}",
		fields, corev1.LabelHostname, m.name, machineTaint)
}

// awaitPod waits until the scheduler has bound the pod of a task to the machine.
func (m *machine) awaitPod(t *testing.T, id string) (pod corev1.Pod) {
	t.Helper()
	eventually(t, "the pod of task "+id+" is on "+m.name, func() (string, bool) {
		pods := m.pods(t, id)
		if len(pods) == 1 {
			pod = pods[0]
		}
		return fmt.Sprintf("%d pods, one of them on %q", len(pods), pod.Spec.NodeName), pod.Spec.NodeName == m.name
	})
	return pod
}

// runs sets the container of a pod to running.
func (m *machine) runs(t *testing.T, pod corev1.Pod) {
	t.Helper()
	m.says(t, pod, corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{
		Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
	}}})
}

func (m *machine) says(t *testing.T, pod corev1.Pod, s corev1.PodStatus) {
	t.Helper()
	change := must.Encode(t, map[string]any{"status": s})
	if _, err := m.CoreV1().Pods(m.namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, change, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatalf("say what became of a pod: %v", err)
	}
}

// buries completes the deletion of a terminating pod, as a kubelet does.
func (m *machine) buries(t *testing.T, pod corev1.Pod) {
	t.Helper()
	eventually(t, "pod "+pod.Name+" is told to end", func() (string, bool) {
		p, err := m.CoreV1().Pods(m.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		must.Succeed(t, err)
		return string(p.Status.Phase), p.DeletionTimestamp != nil
	})
	must.Succeed(t, m.CoreV1().Pods(m.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}))
}

func room(processors string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(processors), corev1.ResourceMemory: resource.MustParse("8Gi")}
}

// onMachine returns a machine, and a task that runs on the machine, with its pod.
func (u *user) onMachine(t *testing.T, name string) (m *machine, id string, pod corev1.Pod) {
	t.Helper()
	m = u.newMachine(t, name, nil, room("8"))
	id = u.submit(t, m.file(""))
	pod = m.awaitPod(t, id)
	m.runs(t, pod)
	u.await(t, id, task.Running)
	return m, id, pod
}

// A machine becomes not ready and ready again: the status shows the latest state.
func TestNodeNotReady(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	m, id, _ := ann.onMachine(t, "silent")
	for _, s := range []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionUnknown} {
		m.ready(t, s)
		ann.awaitExplained(t, id, task.Running, explanation{task.ReasonNodeNotReady, "^machine " + m.name + ` has not been ready since \S+Z$`, "^Kubernetes evicts the pod"})
	}
	m.ready(t, corev1.ConditionTrue)
	ann.awaitWhere(t, id, "runs, for no reason", func(s task.Status) bool { return s.Phase == task.Running && s.Metadata.Reason == "" })
}

func TestNodeDrained(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	m, id, pod := ann.onMachine(t, "emptied")
	m.patch(t, map[string]any{"spec": map[string]any{"taints": []any{corev1.Taint{Key: "emptied", Effect: corev1.TaintEffectNoExecute}}}})
	m.buries(t, pod)
	ann.awaitExplained(t, id, task.Failed, explanation{"DeletionByTaintManager", "^Taint manager: deleting", "^The machine was lost or drained"})
}

// Kubernetes deletes the pods of a deleted node after 40 s.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	m, id, _ := ann.onMachine(t, "gone")
	m.remove()
	ann.awaitExplained(t, id, task.Failed, explanation{"DeletionByPodGC", "^PodGC: node no longer exists", "^The machine is gone"})
}

// A task with use_spot runs only on spot machines. The test is not parallel, because the tasks of
// other tests with use_spot would wait for the machine of this test.
func TestSpotTaskRunsOnASpotMachine(t *testing.T) {
	ann := start(t).as(t, "ann")
	of := map[string]string{"k8s-cli.test/spot-of": ann.namespace}
	ann.newMachine(t, "on-demand", of, room("8"))
	spot := ann.newMachine(t, "spot", map[string]string{"k8s-cli.test/spot-of": ann.namespace, "cloud.google.com/gke-spot": "true"}, room("4"))
	spot.patch(t, map[string]any{"spec": map[string]any{"taints": []any{
		corev1.Taint{Key: machineTaint, Value: ann.namespace, Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: "cloud.google.com/gke-spot", Value: "true", Effect: corev1.TaintEffectNoSchedule},
	}}})
	file := parse(t, fmt.Sprintf("resources: {use_spot: true, cpus: 1}\nrun: 'true'\nconfig: {kubernetes: {pod_config: {spec: {nodeSelector: {k8s-cli.test/spot-of: %s}, tolerations: [{key: %s, operator: Exists}]}}}}", ann.namespace, machineTaint))
	var id string
	eventually(t, "the spot machine to be known", func() (string, bool) {
		got, err := ann.Submit(t.Context(), file)
		must.Succeed(t, err)
		id = got.ID
		return strings.Join(got.Warnings, "\n"), len(got.Warnings) == 0
	})
	pod := spot.awaitPod(t, id)
	spot.runs(t, pod)
	ann.await(t, id, task.Running)
}
