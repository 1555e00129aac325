package nodefit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s-cli/pkg/placement"
	"k8s-cli/pkg/task/gpu"
)

// A Reason says why no node could take a pod even if all nodes were empty, and what the user
// can do. The zero Reason means that some node could take the pod, or that the nodes are not
// known.
type Reason struct{ Message, Hint string }

// Explain returns why no node meets the requirements of a pod.
func (n *Nodes) Explain(requirements *Requirements) Reason {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.known {
		return Reason{}
	}
	key := requirements.Key()
	s, ok := n.memo[key]
	if !ok {
		s = explain(requirements, n.sorted())
		n.memo[key] = s
	}
	return s
}

func explain(requirements *Requirements, all []*corev1.Node) Reason {
	if slices.ContainsFunc(all, requirements.fit) {
		return Reason{}
	}
	if len(all) == 0 {
		return Reason{"the cluster has no machines", "Add a machine to the cluster."}
	}
	chosen := slices.DeleteFunc(slices.Clone(all), func(node *corev1.Node) bool { return !requirements.matchesSelector(node) })
	if len(chosen) == 0 {
		return unmatched(requirements, all)
	}
	open := slices.DeleteFunc(slices.Clone(chosen), func(node *corev1.Node) bool { return requirements.untoleratedTaint(node) != "" })
	if len(open) == 0 {
		return untolerated(requirements, chosen)
	}
	return tooSmall(requirements, open, all)
}

// unmatched returns the reason that no node has the required labels.
func unmatched(requirements *Requirements, all []*corev1.Node) Reason {
	if model := modelOf(requirements); model != "" {
		return Reason{
			fmt.Sprintf("no %smachine of the cluster has GPUs of the type %s", spotWord(requirements), model),
			gpuHint(all),
		}
	}
	if model := valueOf(requirements, func(key, _ string) bool { return key == gpu.LabelTPU }); model != "" {
		topology := valueOf(requirements, func(key, _ string) bool { return key == gpu.LabelTPUTopology })
		return Reason{
			fmt.Sprintf("no %smachine of the cluster has TPUs of the type %s with the topology %s", spotWord(requirements), model, topology),
			"Request TPUs that the cluster has, or ask the administrator to add a node pool with these TPUs.",
		}
	}
	return Reason{
		fmt.Sprintf("none of the %d machines has the labels that the task requires: %s", len(all), selectorText(requirements)),
		"Change the node selector or affinity in config.kubernetes.pod_config, or ask the administrator to label a machine.",
	}
}

// untolerated returns the reason that all nodes with matching labels have untolerated taints.
func untolerated(requirements *Requirements, chosen []*corev1.Node) Reason {
	var why []string
	for _, node := range chosen {
		if r := requirements.untoleratedTaint(node); !slices.Contains(why, r) && len(why) < 5 {
			why = append(why, r)
		}
	}
	slices.Sort(why)
	return Reason{
		fmt.Sprintf("no machine accepts this task: %s with matching labels has a taint that the task does not tolerate: %s", nodesText(len(chosen), "each of the ", "the only machine"), strings.Join(why, ", ")),
		"Tolerate the taint in config.kubernetes.pod_config, or wait until the machines are ready and schedulable.",
	}
}

// tooSmall returns the resource that no open node has enough of, or that no node has enough of all.
func tooSmall(requirements *Requirements, open, all []*corev1.Node) Reason {
	for _, name := range slices.Sorted(maps.Keys(requirements.requests)) {
		best := slices.MaxFunc(open, func(a, b *corev1.Node) int { return compare(a, b, name) })
		has, wants := best.Status.Allocatable[name], requirements.requests[name]
		if has.Cmp(wants) >= 0 {
			continue
		}
		s := Reason{
			fmt.Sprintf("no machine has %s: the largest is %s with %s", amount(name, wants), best.Name, amount(name, has)),
			fmt.Sprintf("Request at most %s in %s, or add a larger machine to the cluster.", amount(name, has), field(name)),
		}
		if isGPU(name) {
			s.Hint = gpuHint(all)
		}
		return s
	}
	var asked []string
	for _, name := range slices.Sorted(maps.Keys(requirements.requests)) {
		asked = append(asked, amount(name, requirements.requests[name]))
	}
	nearest := slices.MinFunc(open, func(a, b *corev1.Node) int { return missing(requirements, a) - missing(requirements, b) })
	lack := requirements.insufficientResource(nearest)
	return Reason{
		fmt.Sprintf("no machine has %s together: %s comes closest, with %s", strings.Join(asked, " and "), nearest.Name, amount(lack, nearest.Status.Allocatable[lack])),
		"Request less of one of them, or add a larger machine to the cluster.",
	}
}

func compare(a, b *corev1.Node, name corev1.ResourceName) int {
	of := a.Status.Allocatable[name]
	return of.Cmp(b.Status.Allocatable[name])
}

// missing returns of how many resources a node has too little.
func missing(n *Requirements, node *corev1.Node) (count int) {
	for name, wants := range n.requests {
		if has := node.Status.Allocatable[name]; has.Cmp(wants) < 0 {
			count++
		}
	}
	return count
}

// modelOf returns the GPU model that the requirements name, or "".
func modelOf(n *Requirements) string {
	return strings.ToUpper(valueOf(n, func(key, _ string) bool { return key == gpu.LabelModel }))
}

// valueOf returns the first value of a required label for which wanted returns true, or "".
func valueOf(n *Requirements, wanted func(key, value string) bool) string {
	if n.terms == nil {
		return ""
	}
	for _, t := range n.terms.NodeSelectorTerms {
		for _, e := range t.MatchExpressions {
			if len(e.Values) > 0 && wanted(e.Key, e.Values[0]) {
				return e.Values[0]
			}
		}
	}
	return ""
}

// spotWord returns "spot " if the requirements name only spot machines.
func spotWord(n *Requirements) string {
	if valueOf(n, func(key, value string) bool { return placement.IsSpot(map[string]string{key: value}) }) == "" {
		return ""
	}
	return "spot "
}

func isGPU(name corev1.ResourceName) bool {
	return name == gpu.Nvidia || name == gpu.AMD
}

// gpuHint lists the GPUs of the cluster.
func gpuHint(all []*corev1.Node) string {
	type kind struct {
		nodes int
		most  int64
	}
	kinds := map[string]kind{}
	for _, node := range all {
		for _, name := range []corev1.ResourceName{gpu.Nvidia, gpu.AMD} {
			if q := node.Status.Allocatable[name]; q.Value() > 0 {
				model := gpu.ModelIn(node.Labels)
				if model == "" {
					model = "unnamed (" + string(name) + ")"
				}
				k := kinds[model]
				kinds[model] = kind{k.nodes + 1, max(k.most, q.Value())}
			}
		}
	}
	if len(kinds) == 0 {
		return "No machine of this cluster offers GPUs: install the vendor's device plugin, or submit the task to another cluster."
	}
	var has []string
	for _, model := range slices.Sorted(maps.Keys(kinds)) {
		has = append(has, fmt.Sprintf("%s, up to %d per machine on %s", model, kinds[model].most, nodesText(kinds[model].nodes, "", "1 machine")))
	}
	return "Request GPUs that the cluster has: " + strings.Join(has, "; ") + "."
}

func nodesText(n int, before, one string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf("%s%d machines", before, n)
}

// amount returns a quantity of a resource as text for users.
func amount(name corev1.ResourceName, q resource.Quantity) string {
	switch {
	case name == corev1.ResourceCPU && q.Cmp(resource.MustParse("1")) == 0:
		return "1 CPU"
	case name == corev1.ResourceCPU:
		return fmt.Sprintf("%g CPUs", q.AsApproximateFloat64())
	case name == corev1.ResourceMemory:
		return Bytes(q) + " of memory"
	case name == corev1.ResourceEphemeralStorage:
		return Bytes(q) + " of disk"
	case isGPU(name) && q.Value() == 1:
		return fmt.Sprintf("1 GPU (%s)", name)
	case isGPU(name):
		return fmt.Sprintf("%d GPUs (%s)", q.Value(), name)
	}
	return q.String() + " of " + string(name)
}

// Bytes returns an amount of bytes as text, from 1 GiB on rounded down to a tenth of a GiB.
func Bytes(q resource.Quantity) string {
	const gib = 1 << 30
	if q.Value() < gib {
		return q.String()
	}
	return fmt.Sprintf("%g GiB", float64(q.Value()*10/gib)/10)
}

// field returns the field of a task file that requests a resource.
func field(name corev1.ResourceName) string {
	switch name {
	case corev1.ResourceCPU:
		return "resources.cpus"
	case corev1.ResourceMemory:
		return "resources.memory"
	case corev1.ResourceEphemeralStorage:
		return "resources.ephemeral_storage"
	}
	return string(name)
}

func selectorText(n *Requirements) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(n.selector)) {
		all = append(all, key+"="+n.selector[key])
	}
	if n.terms == nil {
		return strings.Join(all, ", ")
	}
	for _, t := range n.terms.NodeSelectorTerms {
		for _, e := range t.MatchExpressions {
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Key, strings.ToLower(string(e.Operator)), strings.Join(e.Values, "|"))))
		}
	}
	return strings.Join(all[:min(len(all), 5)], ", ")
}
