package cache

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"k8s-cli/pkg/task"
)

// podRequirements are what a pod asks of the node that it is to run on.
type podRequirements struct {
	requests    corev1.ResourceList
	selector    map[string]string    // labels that the node has
	terms       *corev1.NodeSelector // one of its terms holds for the node; nil means any node
	tolerations []corev1.Toleration
}

// requirementsOf returns the requirements of one node of a task, which package submit puts
// into its pod. Values that do not parse ask for nothing: they were refused.
func requirementsOf(r task.Resources) *podRequirements {
	n := &podRequirements{requests: corev1.ResourceList{}}
	ask := func(name corev1.ResourceName, amount string, err error) {
		if q, wrong := resource.ParseQuantity(amount); err == nil && wrong == nil {
			n.requests[name] = q
		}
	}
	cpu, err := r.CPU()
	ask(corev1.ResourceCPU, cpu, err)
	ram, err := r.RAM()
	ask(corev1.ResourceMemory, ram, err)
	if r.EphemeralStorage > 0 {
		ask(corev1.ResourceEphemeralStorage, fmt.Sprintf("%dGi", r.EphemeralStorage), nil)
	}
	model, count, err := r.GPUs()
	if err != nil || count == 0 {
		return n
	}
	kind := task.NvidiaGPU
	if model != "" {
		m := task.ModelOf(model)
		kind, n.terms = m.Resource, &corev1.NodeSelector{}
		for _, s := range m.Selectors {
			n.terms.NodeSelectorTerms = append(n.terms.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: s.Label, Operator: corev1.NodeSelectorOpIn, Values: s.Values}},
			})
		}
	}
	ask(corev1.ResourceName(kind), fmt.Sprint(count), nil)
	n.tolerations = []corev1.Toleration{{Key: kind, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
	return n
}

// podRequirementsOf returns the requirements of a pod of ours, which has one container.
func podRequirementsOf(p *corev1.Pod) *podRequirements {
	n := &podRequirements{requests: corev1.ResourceList{}, selector: p.Spec.NodeSelector, tolerations: p.Spec.Tolerations}
	for _, c := range p.Spec.Containers {
		maps.Copy(n.requests, c.Resources.Requests)
	}
	if a := p.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		n.terms = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return n
}

// key is equal for equal requirements.
func (n *podRequirements) key() string {
	requests := map[corev1.ResourceName]string{}
	for name, q := range n.requests {
		requests[name] = q.String()
	}
	text := fmt.Sprint(requests, n.selector) // maps print in the order of their keys
	if n.terms != nil {
		text += n.terms.String()
	}
	for _, t := range n.tolerations {
		text += t.String()
	}
	return text
}

// fit reports whether the node could hold the pod if it were empty.
func (n *podRequirements) fit(node *corev1.Node) bool {
	return n.matchesSelector(node) && n.untoleratedTaint(node) == "" && n.insufficientResource(node) == ""
}

// matchesSelector reports whether the pod may run on a node with such labels.
func (n *podRequirements) matchesSelector(node *corev1.Node) bool {
	for key, value := range n.selector {
		if has, ok := node.Labels[key]; !ok || has != value {
			return false
		}
	}
	return n.terms == nil || slices.ContainsFunc(n.terms.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return matchesTerm(t, node) })
}

// operators are those of node selectors in the words of label selectors.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// matchesTerm reports whether a term holds for a node: all its parts do. A term
// without any holds for none.
func matchesTerm(t corev1.NodeSelectorTerm, node *corev1.Node) bool {
	for _, f := range t.MatchFields { // of which there is one, metadata.name
		if slices.Contains(f.Values, node.Name) != (f.Operator == corev1.NodeSelectorOpIn) {
			return false
		}
	}
	for _, e := range t.MatchExpressions {
		r, err := k8slabels.NewRequirement(e.Key, operators[e.Operator], e.Values)
		if err != nil || !r.Matches(k8slabels.Set(node.Labels)) {
			return false
		}
	}
	return len(t.MatchFields)+len(t.MatchExpressions) > 0
}

// untoleratedTaint returns what of a node keeps the pod away, or "".
func (n *podRequirements) untoleratedTaint(node *corev1.Node) string {
	for i, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(n.tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) }) {
			return node.Spec.Taints[i].ToString()
		}
	}
	if node.Spec.Unschedulable {
		return corev1.TaintNodeUnschedulable
	}
	return ""
}

// tolerates is Kubernetes' rule; an empty key or effect means any.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || t.Value == taint.Value && t.Key != ""
}

// insufficientResource returns the first resource of which the node has less than is needed
// even if it is empty, or "".
func (n *podRequirements) insufficientResource(node *corev1.Node) corev1.ResourceName {
	for _, name := range slices.Sorted(maps.Keys(n.requests)) {
		if has := node.Status.Allocatable[name]; has.Cmp(n.requests[name]) < 0 {
			return name
		}
	}
	return ""
}
