package features

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/gpu"
	"k8s-cli/pkg/taskfile"
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
	if _, err := m.CoreV1().Nodes().Patch(t.Context(), m.name, types.StrategicMergePatchType, encoded(t, change), metav1.PatchOptions{}, part...); err != nil {
		t.Fatalf("patch a node: %v", err)
	}
}

func encoded(t *testing.T, v any) []byte {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// file returns a task file for the machine with additional fields.
func (m *machine) file(tolerations, fields string) string {
	return fmt.Sprintf("run: 'true'\n%s\nconfig: {kubernetes: {pod_config: {spec: {nodeSelector: {%s: %s}, tolerations: [{key: %s, operator: Exists}%s]}}}}",
		fields, corev1.LabelHostname, m.name, machineTaint, tolerations)
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
	change := encoded(t, map[string]any{"status": s})
	if _, err := m.CoreV1().Pods(m.namespace).Patch(t.Context(), pod.Name, types.StrategicMergePatchType, change, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatalf("say what became of a pod: %v", err)
	}
}

// buries completes the deletion of a terminating pod, as a kubelet does.
func (m *machine) buries(t *testing.T, pod corev1.Pod) {
	t.Helper()
	eventually(t, "pod "+pod.Name+" is told to end", func() (string, bool) {
		p, err := m.CoreV1().Pods(m.namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return string(p.Status.Phase), p.DeletionTimestamp != nil
	})
	if err := m.CoreV1().Pods(m.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}); err != nil {
		t.Fatal(err)
	}
}

func (c *cluster) room(t *testing.T, processors, memory string) corev1.ResourceList {
	t.Helper()
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(processors), corev1.ResourceMemory: resource.MustParse(memory)}
}

// A machine becomes not ready and ready again: the status shows the latest state.
func TestNodeNotReady(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	m := ann.newMachine(t, "silent", nil, ann.room(t, "8", "8Gi"))
	id := ann.submit(t, m.file("", ""))
	m.runs(t, m.awaitPod(t, id))
	ann.await(t, id, task.Running)
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
	m := ann.newMachine(t, "emptied", nil, ann.room(t, "8", "8Gi"))
	id := ann.submit(t, m.file("", ""))
	pod := m.awaitPod(t, id)
	m.runs(t, pod)
	ann.await(t, id, task.Running)
	m.patch(t, map[string]any{"spec": map[string]any{"taints": []any{corev1.Taint{Key: "emptied", Effect: corev1.TaintEffectNoExecute}}}})
	m.buries(t, pod)
	ann.awaitExplained(t, id, task.Failed, explanation{"DeletionByTaintManager", "^Taint manager: deleting", "^The machine was lost or drained"})
}

// Kubernetes deletes the pods of a deleted node after 40 s.
func TestNodeGone(t *testing.T) {
	t.Parallel()
	ann := newUser(t)
	m := ann.newMachine(t, "gone", nil, ann.room(t, "8", "8Gi"))
	id := ann.submit(t, m.file("", ""))
	m.runs(t, m.awaitPod(t, id))
	ann.await(t, id, task.Running)
	m.remove()
	ann.awaitExplained(t, id, task.Failed, explanation{"DeletionByPodGC", "^PodGC: node no longer exists", "^The machine is gone"})
}

// The statuses that a kubelet sets when it ends a pod itself (pkg/kubelet: eviction,
// nodeshutdown, preemption).
func TestPodEvictedByKubelet(t *testing.T) {
	t.Parallel()
	ann := start(t).as(t, "ann")
	for i, tt := range []struct {
		name, reason, message string
		want                  explanation
	}{
		{"it is short of disk", "Evicted", "The node was low on resource: ephemeral-storage.", explanation{"Evicted", "low on resource: ephemeral-storage", "resources.ephemeral_storage"}},
		{"it shuts down", "Terminated", "Pod was terminated in response to imminent node shutdown.", explanation{"Terminated", "imminent node shutdown", "^The machine shut down"}},
		{"it says only that", "", "", explanation{"TerminationByKubelet", "^The words of the condition", "^The machine ran short of resources or shut down"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := ann.newMachine(t, "short-"+strconv.Itoa(i), nil, ann.room(t, "8", "8Gi")) // created here, because no kubelet renews the status of the machine
			id := ann.submit(t, m.file("", ""))
			pod := m.awaitPod(t, id)
			m.runs(t, pod)
			ann.await(t, id, task.Running)
			m.says(t, pod, corev1.PodStatus{
				Phase: corev1.PodFailed, Reason: tt.reason, Message: tt.message,
				Conditions: []corev1.PodCondition{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: corev1.PodReasonTerminationByKubelet, Message: "The words of the condition",
				}},
				ContainerStatuses: []corev1.ContainerStatus{{
					Name: pod.Spec.Containers[0].Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
						ExitCode: 137, Reason: "Error", StartedAt: metav1.Now(), FinishedAt: metav1.NewTime(time.Now()),
					}},
				}},
			})
			ann.awaitExplained(t, id, task.Failed, tt.want)
		})
	}
}

func TestUnschedulableReasons(t *testing.T) {
	t.Parallel()
	ann := start(t, "--allowed-tolerations", "*").as(t, "ann")
	const both = "nodeSelector: {" + machineTaint + ": %s}, tolerations: [{key: " + machineTaint + ", operator: Exists}]"
	wide := ann.newMachine(t, "wide", nil, ann.room(t, "8", "2Gi"))
	deep := ann.newMachine(t, "deep", nil, ann.room(t, "4", "64Gi"))
	full := ann.submit(t, deep.file("", "resources: {cpus: 3}"))
	deep.awaitPod(t, full)
	deep.patch(t, map[string]any{"spec": map[string]any{"taints": []any{corev1.Taint{Key: "dedicated", Value: "bob", Effect: corev1.TaintEffectNoSchedule}}}})
	for _, tt := range []struct {
		name, resources, spec string
		want                  explanation
	}{
		{
			"none has both", "{cpus: 6, memory: 32}", fmt.Sprintf(both[:len(both)-1]+", {key: dedicated, operator: Exists}]", ann.namespace),
			explanation{"Unschedulable", "^no machine has 6 CPUs and 32 GiB of memory together: " + deep.name + " comes closest, with 4 CPUs; the scheduler says", "^Request less of one of them"},
		},
		{
			"it is for others", "{cpus: 1}", "nodeSelector: {" + corev1.LabelHostname + ": " + deep.name + "}",
			explanation{"Unschedulable", "^no machine accepts this task: the only machine with matching labels has a taint that the task does not tolerate: dedicated=bob:NoSchedule", "^Tolerate the taint"},
		},
		{
			"all that would do are for others", "{cpus: 1}", "nodeSelector: {" + machineTaint + ": " + ann.namespace + "}",
			explanation{"Unschedulable", "^no machine accepts this task: each of the 2 machines .*dedicated=bob:NoSchedule", "^Tolerate the taint"},
		},
		{
			"it is full", "{cpus: 3}", "nodeSelector: {" + corev1.LabelHostname + ": " + deep.name + "}, tolerations: [{operator: Exists}]",
			explanation{"Unschedulable", "^0/.*Insufficient cpu", "^The task starts when capacity becomes free"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			id := ann.submit(t, "run: 'true'\nresources: "+tt.resources+"\nconfig: {kubernetes: {pod_config: {spec: {"+tt.spec+"}}}}")
			ann.awaitExplained(t, id, task.Pending, tt.want)
			ann.stop(t, id)
		})
	}
	wide.patch(t, map[string]any{"spec": map[string]any{"unschedulable": true}})
	id := ann.submit(t, wide.file("", ""))
	ann.awaitExplained(t, id, task.Pending, explanation{"Unschedulable", "does not tolerate: " + corev1.TaintNodeUnschedulable, "and schedulable"})
}

// Other tasks would see the GPUs, so this test runs alone.
func TestAvailableGPUs(t *testing.T) {
	ann := start(t, "--allowed-tolerations", "*").as(t, "ann")
	room := ann.room(t, "8", "8Gi")
	room[gpu.Nvidia] = resource.MustParse("4")
	ann.newMachine(t, "gpus", map[string]string{"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB"}, room)
	for accelerators, message := range map[string]string{
		"H100":        "^no machine of the cluster has GPUs of the type H100; the scheduler says",
		"A100-80GB:8": "^no machine has 8 GPUs",
	} {
		id := ann.submit(t, "run: 'true'\nresources: {accelerators: '"+accelerators+"'}\nconfig: {kubernetes: {pod_config: {spec: {tolerations: [{operator: Exists}]}}}}")
		ann.awaitExplained(t, id, task.Pending, explanation{"Unschedulable", message, "A100"})
		ann.stop(t, id)
	}
}

// A task with use_spot runs only on spot machines. The test is not parallel, because the tasks of
// other tests with use_spot would wait for the machine of this test.
func TestSpotTaskRunsOnASpotMachine(t *testing.T) {
	ann := start(t).as(t, "ann")
	of := map[string]string{"k8s-cli.test/spot-of": ann.namespace}
	ann.newMachine(t, "on-demand", of, ann.room(t, "8", "8Gi"))
	spot := ann.newMachine(t, "spot", map[string]string{"k8s-cli.test/spot-of": ann.namespace, "cloud.google.com/gke-spot": "true"}, ann.room(t, "4", "8Gi"))
	spot.patch(t, map[string]any{"spec": map[string]any{"taints": []any{
		corev1.Taint{Key: machineTaint, Value: ann.namespace, Effect: corev1.TaintEffectNoSchedule},
		corev1.Taint{Key: "cloud.google.com/gke-spot", Value: "true", Effect: corev1.TaintEffectNoSchedule},
	}}})
	file := fmt.Sprintf("resources: {use_spot: true, cpus: 1}\nrun: 'true'\nconfig: {kubernetes: {pod_config: {spec: {nodeSelector: {k8s-cli.test/spot-of: %s}, tolerations: [{key: %s, operator: Exists}]}}}}", ann.namespace, machineTaint)
	parsed, _, err := taskfile.Parse([]byte(file))
	if err != nil {
		t.Fatal(err)
	}
	var id string
	eventually(t, "the spot machine to be known", func() (string, bool) {
		got, err := ann.Submit(t.Context(), parsed)
		if err != nil {
			t.Fatal(err)
		}
		id = got.ID
		return strings.Join(got.Warnings, "\n"), len(got.Warnings) == 0
	})
	pod := spot.awaitPod(t, id)
	spot.runs(t, pod)
	ann.await(t, id, task.Running)
}
