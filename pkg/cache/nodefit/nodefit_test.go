package nodefit

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/gpu"
)

// newNode returns a node with these allocatable resources; pairs are keys and values of its
// labels.
func newNode(name, cpu, memory, gpus string, pairs ...string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	n.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory), gpu.Nvidia: resource.MustParse(gpus),
	}
	for i := 0; i < len(pairs); i += 2 {
		n.Labels[pairs[i]] = pairs[i+1]
	}
	return n
}

func tainted(n *corev1.Node, key, value string, effect corev1.TaintEffect) *corev1.Node {
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	return n
}

func TestResourcesThatNoNodeHas(t *testing.T) {
	small, large := newNode("house-1", "2", "4Gi", "0"), newNode("house-2", "1500m", "64Gi", "0")
	l4 := newNode("gpu-1", "8", "32Gi", "4", "nvidia.com/gpu.product", "NVIDIA-L4")
	cordoned := newNode("house-3", "64", "64Gi", "0")
	cordoned.Spec.Unschedulable = true
	for _, tt := range []struct {
		name          string
		ask           task.Resources
		nodes         []*corev1.Node
		message, hint string
	}{
		{"what fits", task.Resources{CPUs: "2", Memory: "4"}, []*corev1.Node{small}, "", ""},
		{"nothing asked for", task.Resources{}, []*corev1.Node{small}, "", ""},
		{"no nodes", task.Resources{}, nil, "the cluster has no machines", "Add a machine to the cluster."},
		{
			"more processors than any has",
			task.Resources{CPUs: "4+"},
			[]*corev1.Node{small, large},
			"no machine has 4 CPUs: the largest is house-1 with 2 CPUs",
			"Request at most 2 CPUs in resources.cpus, or add a larger machine to the cluster.",
		},
		{
			"more memory than any has",
			task.Resources{CPUs: "1", Memory: "100"},
			[]*corev1.Node{small, large},
			"no machine has 100 GiB of memory: the largest is house-2 with 64 GiB of memory",
			"Request at most 64 GiB of memory in resources.memory, or add a larger machine to the cluster.",
		},
		{
			"both, but nowhere together",
			task.Resources{CPUs: "2", Memory: "8"},
			[]*corev1.Node{small, large},
			"no machine has 2 CPUs and 8 GiB of memory together: house-1 comes closest, with 4 GiB of memory",
			"Request less of one of them, or add a larger machine to the cluster.",
		},
		{
			"a node that is cordoned does not count",
			task.Resources{CPUs: "4"},
			[]*corev1.Node{small, cordoned},
			"no machine has 4 CPUs: the largest is house-1 with 2 CPUs",
			"Request at most 2 CPUs in resources.cpus, or add a larger machine to the cluster.",
		},
		{
			"all are cordoned",
			task.Resources{CPUs: "4"},
			[]*corev1.Node{cordoned},
			"no machine accepts this task: the only machine with matching labels has a taint that the task does not tolerate: node.kubernetes.io/unschedulable",
			"Tolerate the taint in config.kubernetes.pod_config, or wait until the machines are ready and schedulable.",
		},
		{
			"all are tainted",
			task.Resources{},
			[]*corev1.Node{tainted(newNode("a", "1", "1Gi", "0"), "team", "red", corev1.TaintEffectNoSchedule), tainted(newNode("b", "1", "1Gi", "0"), "team", "red", corev1.TaintEffectNoSchedule)},
			"no machine accepts this task: each of the 2 machines with matching labels has a taint that the task does not tolerate: team=red:NoSchedule",
			"Tolerate the taint in config.kubernetes.pod_config, or wait until the machines are ready and schedulable.",
		},
		{"a taint that only prefers others", task.Resources{}, []*corev1.Node{tainted(newNode("a", "1", "1Gi", "0"), "team", "red", corev1.TaintEffectPreferNoSchedule)}, "", ""},
		{"GPUs tolerate the taint of GPUs", task.Resources{Accelerators: "L4"}, []*corev1.Node{tainted(newNode("g", "1", "1Gi", "1", "nvidia.com/gpu.product", "NVIDIA-L4"), gpu.Nvidia, "present", corev1.TaintEffectNoSchedule)}, "", ""},
		{
			"a model that no node has",
			task.Resources{Accelerators: "H100:8"},
			[]*corev1.Node{small, l4, newNode("gpu-2", "8", "32Gi", "2", "nvidia.com/gpu.product", "NVIDIA-L4")},
			"no machine of the cluster has GPUs of the type H100",
			"Request GPUs that the cluster has: L4, up to 4 per machine on 2 machines.",
		},
		{
			"more GPUs than a node has",
			task.Resources{Accelerators: "L4:8"},
			[]*corev1.Node{small, l4},
			"no machine has 8 GPUs (nvidia.com/gpu): the largest is gpu-1 with 4 GPUs (nvidia.com/gpu)",
			"Request GPUs that the cluster has: L4, up to 4 per machine on 1 machine.",
		},
		{
			"more GPUs than a node with one has",
			task.Resources{Accelerators: "T4:2"},
			[]*corev1.Node{newNode("gpu-3", "8", "32Gi", "1", "nvidia.com/gpu.product", "Tesla-T4")},
			"no machine has 2 GPUs (nvidia.com/gpu): the largest is gpu-3 with 1 GPU (nvidia.com/gpu)",
			"Request GPUs that the cluster has: T4, up to 1 per machine on 1 machine.",
		},
		{
			"GPUs where there are none",
			task.Resources{Accelerators: "H100"},
			[]*corev1.Node{small},
			"no machine of the cluster has GPUs of the type H100",
			"No machine of this cluster offers GPUs: install the vendor's device plugin, or submit the task to another cluster.",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := NewNodes()
			for _, node := range tt.nodes {
				n.Put(Trim(node))
			}
			if can, known := n.CanHold(tt.ask); can || known {
				t.Errorf("before the nodes are known: can %t, known %t", can, known)
			}
			if got := n.Explain(TaskRequirements(tt.ask)); got != (Reason{}) {
				t.Errorf("before the nodes are known: %+v", got)
			}
			n.MarkSynced()
			if can, known := n.CanHold(tt.ask); !known || can != (tt.message == "") {
				t.Errorf("can %t, known %t", can, known)
			}
			for range 2 { // the second time from the memo
				if got := n.Explain(TaskRequirements(tt.ask)); got.Message != tt.message || got.Hint != tt.hint {
					t.Errorf("got  %q\n     %q\nwant %q\n     %q", got.Message, got.Hint, tt.message, tt.hint)
				}
			}
		})
	}
}

func TestNodeSelectors(t *testing.T) {
	node := newNode("house-1", "1", "1Gi", "0", "disk", "ssd", "size", "4")
	requires := func(e ...corev1.NodeSelectorRequirement) *Requirements {
		return &Requirements{terms: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: e}}}}
	}
	for _, tt := range []struct {
		name         string
		Requirements *Requirements
		want         bool
	}{
		{"anything", &Requirements{}, true},
		{"a label that it has", &Requirements{selector: map[string]string{"disk": "ssd"}}, true},
		{"another value", &Requirements{selector: map[string]string{"disk": "hdd"}}, false},
		{"a label that it lacks", &Requirements{selector: map[string]string{"zone": ""}}, false},
		{"one of several values", requires(corev1.NodeSelectorRequirement{Key: "disk", Operator: "In", Values: []string{"nvme", "ssd"}}), true},
		{"none of several values", requires(corev1.NodeSelectorRequirement{Key: "disk", Operator: "NotIn", Values: []string{"nvme", "ssd"}}), false},
		{"more than", requires(corev1.NodeSelectorRequirement{Key: "size", Operator: "Gt", Values: []string{"3"}}), true},
		{"less than", requires(corev1.NodeSelectorRequirement{Key: "size", Operator: "Lt", Values: []string{"3"}}), false},
		{"both of two", requires(corev1.NodeSelectorRequirement{Key: "disk", Operator: "Exists"}, corev1.NodeSelectorRequirement{Key: "zone", Operator: "DoesNotExist"}), true},
		{"nothing, which holds for none", requires(), false},
		{"its name", &Requirements{terms: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "In", Values: []string{"house-1"}}}}}}}, true},
		{"not its name", &Requirements{terms: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: "NotIn", Values: []string{"house-1"}}}}}}}, false},
	} {
		if got := tt.Requirements.matchesSelector(node); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}

func TestNodesThatChange(t *testing.T) {
	n := NewNodes()
	changes := func() bool {
		select {
		case <-n.Changed():
			return true
		default:
			return false
		}
	}
	ask := task.Resources{CPUs: "4"}
	n.MarkSynced()
	n.Put(Trim(newNode("house-1", "2", "4Gi", "0")))
	if can, _ := n.CanHold(ask); can || !changes() {
		t.Error("a node that is too small")
	}
	n.Put(Trim(newNode("house-1", "2", "4Gi", "0")))
	if changes() {
		t.Error("the same again is told as a change")
	}
	n.Put(Trim(newNode("house-1", "8", "4Gi", "0")))
	if can, _ := n.CanHold(ask); !can || !changes() || n.Explain(TaskRequirements(ask)) != (Reason{}) {
		t.Error("the node has grown")
	}
	n.Drop(newNode("house-1", "8", "4Gi", "0"))
	if can, _ := n.CanHold(ask); can || !changes() {
		t.Error("the node is gone")
	}
}

// TPUs need the model, and the topology of a machine with this number of chips.
func TestTPUs(t *testing.T) {
	n := NewNodes()
	n.MarkSynced()
	slice := func(name, topology, chips string) *corev1.Node {
		node := tainted(newNode(name, "8", "8Gi", "0", gpu.LabelTPU, "tpu-v5-lite-podslice", gpu.LabelTPUTopology, topology), gpu.TPU, "present", corev1.TaintEffectNoSchedule)
		node.Status.Allocatable[gpu.TPU] = resource.MustParse(chips)
		return node
	}
	ask := task.Resources{Accelerators: "tpu-v5-lite-podslice:4"}
	n.Put(Trim(slice("one of several machines", "4x4", "4")))
	if why := n.Explain(TaskRequirements(ask)); why.Message != "no machine of the cluster has TPUs of the type tpu-v5-lite-podslice with the topology 2x2" || why.Hint == "" {
		t.Errorf("%+v", why)
	}
	alone := slice("alone", "2x2", "4")
	n.Put(Trim(alone))
	if can, _ := n.CanHold(ask); !can || Taint(alone) != "" {
		t.Errorf("four chips: %t, taint %q", can, Taint(alone))
	}
	if can, _ := n.CanHold(task.Resources{Accelerators: "tpu-v5-lite-podslice:8"}); can {
		t.Error("eight chips fit on a machine with four")
	}
}

// A task with use_spot fits only spot machines, if there are some, and any machine otherwise.
func TestSpotMachines(t *testing.T) {
	n := NewNodes()
	ask := func(want bool, r task.Resources) {
		t.Helper()
		if can, known := n.CanHold(r); can != want || !known {
			t.Errorf("%+v fits: %t", r, can)
		}
	}
	if has, known := n.HasSpot(); has || known {
		t.Errorf("before the machines are known: %t, %t", has, known)
	}
	n.MarkSynced()
	n.Put(Trim(newNode("large", "8", "8Gi", "1", "nvidia.com/gpu.product", "NVIDIA-L4")))
	if has, known := n.HasSpot(); has || !known {
		t.Errorf("without spot machines: %t, %t", has, known)
	}
	ask(true, task.Resources{UseSpot: true, CPUs: "8"})
	for i, mark := range [][2]string{
		{"cloud.google.com/gke-spot", "true"},
		{"eks.amazonaws.com/capacityType", "SPOT"},
		{"kubernetes.azure.com/scalesetpriority", "spot"},
		{"karpenter.sh/capacity-type", "spot"},
	} {
		small := tainted(newNode("small", "2", "8Gi", "0", mark[0], mark[1]), mark[0], mark[1], corev1.TaintEffectNoSchedule)
		n.Put(Trim(small))
		if has, known := n.HasSpot(); !has || !known || Taint(small) != "" {
			t.Errorf("%v: %t, %t, taint %q", mark, has, known, Taint(small))
		}
		ask(true, task.Resources{UseSpot: true, CPUs: "2"})
		ask(false, task.Resources{UseSpot: true, CPUs: "8"})
		ask(true, task.Resources{CPUs: "8"})
		ask(false, task.Resources{UseSpot: true, Accelerators: "L4"})
		if why := n.Explain(TaskRequirements(task.Resources{UseSpot: true, Accelerators: "L4"})); i == 0 && why.Message != "no spot machine of the cluster has GPUs of the type L4" {
			t.Errorf("%+v", why)
		}
	}
	n.Put(Trim(newNode("small", "2", "8Gi", "0", "karpenter.sh/capacity-type", "on-demand")))
	if has, _ := n.HasSpot(); has {
		t.Error("a machine on demand is a spot machine")
	}
}

// The rules are the rules of Kubernetes.
func TestTolerations(t *testing.T) {
	const noSchedule, noExecute = corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute
	taint := corev1.Taint{Key: "team", Value: "red", Effect: noSchedule}
	for _, tt := range []struct {
		name string
		by   corev1.Toleration
		want bool
	}{
		{"the same value", corev1.Toleration{Key: "team", Value: "red"}, true},
		{"the same value, said by an operator", corev1.Toleration{Key: "team", Operator: corev1.TolerationOpEqual, Value: "red", Effect: noSchedule}, true},
		{"another value", corev1.Toleration{Key: "team", Value: "blue"}, false},
		{"any value", corev1.Toleration{Key: "team", Operator: corev1.TolerationOpExists}, true},
		{"another key", corev1.Toleration{Key: "disk", Operator: corev1.TolerationOpExists}, false},
		{"another effect", corev1.Toleration{Key: "team", Value: "red", Effect: noExecute}, false},
		{"any taint", corev1.Toleration{Operator: corev1.TolerationOpExists}, true},
		{"any taint with an effect", corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: noSchedule}, true},
		{"any taint with another effect", corev1.Toleration{Operator: corev1.TolerationOpExists, Effect: noExecute}, false},
		{"a value without a key", corev1.Toleration{Value: "red"}, false},
	} {
		if got := tolerates(tt.by, taint); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestTheSmallestAmounts(t *testing.T) {
	n := NewNodes()
	n.MarkSynced()
	one := newNode("gpu-1", "1", "1Gi", "1", "nvidia.com/gpu.product", "NVIDIA-L4")
	one.Status.Allocatable[corev1.ResourceEphemeralStorage] = resource.MustParse("1Mi")
	n.Put(Trim(one))
	for _, ask := range []task.Resources{{Accelerators: "L4:1"}, {CPUs: "1"}, {Memory: "1"}} {
		if can, _ := n.CanHold(ask); !can {
			t.Errorf("%+v is more than a node has", ask)
		}
	}
	if can, _ := n.CanHold(task.Resources{EphemeralStorage: 1}); can {
		t.Error("a GiB of disk fits in a MiB")
	}
	why := n.Explain(TaskRequirements(task.Resources{Accelerators: "L4:2"}))
	if want := "Request GPUs that the cluster has: L4, up to 1 per machine on 1 machine."; why.Hint != want {
		t.Errorf("hint %q, want %q", why.Hint, want)
	}
}

func TestNodesThatTakeAnyPod(t *testing.T) {
	n := NewNodes()
	if _, known := n.Count(); known {
		t.Error("nodes are known that nobody has seen")
	}
	n.MarkSynced()
	for name, spec := range map[string]corev1.NodeSpec{
		"open":      {},
		"preferred": {Taints: []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectPreferNoSchedule}}},
		"closed":    {Unschedulable: true},
		"others":    {Taints: []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoSchedule}}},
		"emptied":   {Taints: []corev1.Taint{{Key: "a", Effect: corev1.TaintEffectNoExecute}}},
	} {
		n.Put(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec})
	}
	if count, known := n.Count(); count != 2 || !known {
		t.Errorf("%d nodes take any pod, known: %v", count, known)
	}
}

func TestFieldsRetainedOfANode(t *testing.T) {
	n := newNode("house-1", "2", "4Gi", "0", "disk", "ssd")
	n.Annotations = map[string]string{"a": "b"}
	n.Status.Images = []corev1.ContainerImage{{Names: []string{"x"}}}
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.Unix(7, 0), LastTransitionTime: metav1.Unix(5, 0), Message: "fine"},
	}
	got := Trim(n)
	if got.Annotations != nil || got.Status.Images != nil || len(got.Status.Conditions) != 1 || got.Labels["disk"] != "ssd" {
		t.Errorf("kept: %+v", got)
	}
	if c := got.Status.Conditions[0]; !c.LastHeartbeatTime.IsZero() || !c.LastTransitionTime.Equal(new(metav1.Unix(5, 0))) {
		t.Errorf("condition: %+v", c)
	}
}
