// Package nodefit compares what pods require with the nodes of the cluster. It explains why no
// node could take a pod even if all nodes were empty.
package nodefit

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	k8slabels "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"k8s-cli/pkg/placement"
	"k8s-cli/pkg/task"
)

// Requirements holds what a pod requires of its node.
type Requirements struct {
	requests    corev1.ResourceList
	selector    map[string]string    // labels that the node must have
	terms       *corev1.NodeSelector // one of its terms must match the node; nil means any node
	tolerations []corev1.Toleration
}

// TaskRequirements returns the requirements of one node of a task, without the requirements
// in a pod_config.
func TaskRequirements(r task.Resources) *Requirements {
	return &Requirements{
		requests:    requestsOf(placement.Resources(r)),
		terms:       placement.NodeSelector(r),
		tolerations: placement.Tolerations(r),
	}
}

// PodRequirements returns the requirements of a pod of a task, which has one container.
func PodRequirements(p *corev1.PodSpec) *Requirements {
	n := &Requirements{requests: corev1.ResourceList{}, selector: p.NodeSelector, tolerations: p.Tolerations}
	for _, c := range p.Containers {
		maps.Copy(n.requests, requestsOf(c.Resources))
	}
	if a := p.Affinity; a != nil && a.NodeAffinity != nil {
		n.terms = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return n
}

// requestsOf returns the requests of a container. As in the API server, a limit without a
// request counts as a request.
func requestsOf(r corev1.ResourceRequirements) corev1.ResourceList {
	all := corev1.ResourceList{}
	maps.Copy(all, r.Limits)
	maps.Copy(all, r.Requests)
	return all
}

// Key returns equal strings for equal requirements.
func (r *Requirements) Key() string {
	requests := map[corev1.ResourceName]string{}
	for name, q := range r.requests {
		requests[name] = q.String()
	}
	text := fmt.Sprint(requests, r.selector) // fmt prints maps sorted by key
	if r.terms != nil {
		text += r.terms.String()
	}
	for _, t := range r.tolerations {
		text += t.String()
	}
	return text
}

// fit reports whether an empty node could hold the pod.
func (r *Requirements) fit(node *corev1.Node) bool {
	return r.matchesSelector(node) && r.untoleratedTaint(node) == "" && r.insufficientResource(node) == ""
}

// matchesSelector reports whether the labels and the name of a node satisfy the pod's selector
// and affinity.
func (r *Requirements) matchesSelector(node *corev1.Node) bool {
	for key, value := range r.selector {
		if has, ok := node.Labels[key]; !ok || has != value {
			return false
		}
	}
	return r.terms == nil || slices.ContainsFunc(r.terms.NodeSelectorTerms, func(t corev1.NodeSelectorTerm) bool { return matchesTerm(t, node) })
}

// operators maps the operators of node selectors to the operators of label selectors.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
	corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// matchesTerm reports whether all parts of a term match a node. A term without parts matches
// no node.
func matchesTerm(t corev1.NodeSelectorTerm, node *corev1.Node) bool {
	for _, f := range t.MatchFields { // the only field is metadata.name
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

// untoleratedTaint returns the taint of a node that the pod does not tolerate, or "".
func (r *Requirements) untoleratedTaint(node *corev1.Node) string {
	for i, taint := range node.Spec.Taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(r.tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) }) {
			return node.Spec.Taints[i].ToString()
		}
	}
	if node.Spec.Unschedulable {
		return corev1.TaintNodeUnschedulable
	}
	return ""
}

// tolerates implements the rule of Kubernetes; an empty key or effect means any.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	return t.Operator == corev1.TolerationOpExists || t.Value == taint.Value && t.Key != ""
}

// insufficientResource returns the first resource that even the empty node has too little of, or
// "".
func (r *Requirements) insufficientResource(node *corev1.Node) corev1.ResourceName {
	for _, name := range slices.Sorted(maps.Keys(r.requests)) {
		if has := node.Status.Allocatable[name]; has.Cmp(r.requests[name]) < 0 {
			return name
		}
	}
	return ""
}
