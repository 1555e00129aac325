package capacity

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task/gpu"
	"k8s-cli/pkg/task/overview"
)

const gib = 1 << 30

func node(name, model string, gpus string, change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("110"),
	}
	if gpus != "" {
		n.Status.Allocatable[gpu.Nvidia] = resource.MustParse(gpus)
		n.Labels["nvidia.com/gpu.product"] = model
		n.Spec.Taints = []corev1.Taint{{Key: gpu.Nvidia, Value: "present", Effect: corev1.TaintEffectNoSchedule}}
	}
	n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	if change != nil {
		change(n)
	}
	return n
}

func TestCapacity(t *testing.T) {
	nodes := nodefit.NewNodes()
	l := NewLedger(nodes)
	if c := l.Capacity(); c.Known || len(c.Nodes) != 0 {
		t.Errorf("before the nodes are known: %+v", c)
	}
	nodes.Put(node("b", "Tesla-T4", "4", nil))
	nodes.Put(node("a", "", "", nil))
	nodes.Put(node("c", "Tesla-T4", "8", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
	nodes.Put(node("d", "Tesla-T4", "2", func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }))
	nodes.Put(node("e", "", "", func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "team", Value: "x", Effect: corev1.TaintEffectNoSchedule}}
	}))
	nodes.MarkSynced()
	l.Add("one", "b", Requests{500, gib, 3})
	l.Add("two", "b", Requests{1500, 2 * gib, 0})
	l.Add("three", "", Requests{1000, gib, 2})
	l.Add("over", "a", Requests{9000, gib, 0}) // more than the machine has
	got := l.Capacity()
	empty := overview.Amounts{CPUs: 8, Memory: 16 * gib, Pods: 110}
	used := overview.Amounts{CPUs: 2, Memory: 3 * gib, GPUs: 3, Pods: 2}
	want := overview.Capacity{
		Known:   true,
		Waiting: overview.Amounts{CPUs: 1, Memory: gib, GPUs: 2, Pods: 1},
		Total: overview.Resources{
			Allocatable: overview.Amounts{CPUs: 16, Memory: 32 * gib, GPUs: 4, Pods: 220},
			Requested:   overview.Amounts{CPUs: 11, Memory: 4 * gib, GPUs: 3, Pods: 3},
			Free:        overview.Amounts{CPUs: 6, Memory: 28 * gib, GPUs: 1, Pods: 217},
		},
		GPUs: []overview.GPUModel{{Model: "T4", Nodes: 1, Largest: 4, Allocatable: 4, Requested: 3, Free: 1, LargestFree: 1}},
	}
	gpus := func(n int64) overview.Amounts { a := empty; a.GPUs = n; return a }
	want.Nodes = []overview.Node{
		{Name: "a", Ready: true, Schedulable: true, Resources: overview.Resources{
			Allocatable: empty, Requested: overview.Amounts{CPUs: 9, Memory: gib, Pods: 1}, Free: overview.Amounts{Memory: 15 * gib, Pods: 109},
		}},
		{Name: "b", GPU: "T4", Ready: true, Schedulable: true, Resources: overview.Resources{
			Allocatable: gpus(4), Requested: used, Free: overview.Amounts{CPUs: 6, Memory: 13 * gib, GPUs: 1, Pods: 108},
		}},
		{Name: "c", GPU: "T4", Ready: true, Taint: corev1.TaintNodeUnschedulable, Resources: overview.Resources{Allocatable: gpus(8), Free: gpus(8)}},
		{Name: "d", GPU: "T4", Schedulable: true, Resources: overview.Resources{Allocatable: gpus(2), Free: gpus(2)}},
		{Name: "e", Ready: true, Taint: "team=x:NoSchedule", Resources: overview.Resources{Allocatable: empty, Free: empty}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("capacity (-want +got):\n%s", diff)
	}
}

func TestAPodCountsOnceUntilItEnds(t *testing.T) {
	nodes := nodefit.NewNodes()
	nodes.Put(node("a", "", "", nil))
	nodes.MarkSynced()
	l := NewLedger(nodes)
	version := l.CapacityVersion()
	changed := func(what string, want bool) {
		t.Helper()
		now := l.CapacityVersion()
		if (now != version) != want {
			t.Errorf("%s: the version was %v and is %v", what, version, now)
		}
		version = now
	}
	l.Add("p", "", Requests{1000, gib, 0})
	changed("a pod that waits", true)
	l.Add("p", "a", Requests{1000, gib, 0})
	changed("the pod on its machine", true)
	l.Add("p", "a", Requests{1000, gib, 0})
	changed("the same", false)
	if c := l.Capacity(); c.Waiting != (overview.Amounts{}) || c.Total.Requested != (overview.Amounts{CPUs: 1, Memory: gib, Pods: 1}) {
		t.Errorf("on its machine: %+v", c)
	}
	l.Drop("p")
	changed("the pod that has ended", true)
	l.Drop("p")
	changed("its deletion", false)
	if c := l.Capacity(); c.Total.Requested != (overview.Amounts{}) || len(l.byHost) != 0 {
		t.Errorf("at the end: %+v, sums %v", c, l.byHost)
	}
	nodes.Drop(node("a", "", "", nil))
	changed("a machine that is gone", true)
}

func TestRequestsOfAPod(t *testing.T) {
	pod := &corev1.PodSpec{Containers: []corev1.Container{
		{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")},
			Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2"), corev1.ResourceMemory: resource.MustParse("1Gi"), gpu.AMD: resource.MustParse("2")},
		}},
		{Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{gpu.Nvidia: resource.MustParse("1"), corev1.ResourceCPU: resource.MustParse("1")}}},
	}}
	if got, want := RequestsOf(pod), (Requests{1250, gib, 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
