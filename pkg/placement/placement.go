// Package placement computes what a node of a task requires of its machine. The requirements
// are resources, labels and tolerations. The controller writes these requirements into pods,
// and the store compares them with the machines of the cluster. The functions have no side
// effects.
package placement

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/gpu"
)

// GPUs returns the extended resource that a container requests, the model, and the number of
// GPUs; model is "" for any model, and count is 0 without GPUs.
func GPUs(r task.Resources) (kind corev1.ResourceName, model string, count int) {
	model, count, err := r.GPUs()
	if err != nil || count == 0 {
		return "", "", 0
	}
	if model == "" {
		return gpu.Nvidia, "", count
	}
	return corev1.ResourceName(gpu.ModelOf(model).Resource), model, count
}

// Resources returns the requests and limits of the container: CPU and memory as both, GPUs as
// limits, disk as a request. A value that does not parse requests nothing; the submission has
// rejected such values.
func Resources(r task.Resources) corev1.ResourceRequirements {
	requests := corev1.ResourceList{}
	if q, ok := parse(r.CPU()); ok {
		requests[corev1.ResourceCPU] = q
	}
	if q, ok := parse(r.RAM()); ok {
		requests[corev1.ResourceMemory] = RoundUpToBytes(q)
	}
	limits := maps.Clone(requests)
	if kind, _, count := GPUs(r); count > 0 {
		limits[kind] = *resource.NewQuantity(int64(count), resource.DecimalSI)
	}
	if r.EphemeralStorage > 0 {
		requests[corev1.ResourceEphemeralStorage] = *resource.NewQuantity(int64(r.EphemeralStorage)<<30, resource.BinarySI)
	}
	return corev1.ResourceRequirements{Requests: requests, Limits: limits}
}

func parse(amount string, err error) (q resource.Quantity, ok bool) {
	if err != nil || amount == "" {
		return q, false
	}
	q, err = resource.ParseQuantity(amount)
	return q, err == nil
}

// RoundUpToBytes returns q rounded up to a whole number of bytes.
func RoundUpToBytes(q resource.Quantity) resource.Quantity {
	if up := resource.NewQuantity(q.Value(), q.Format); up.Cmp(q) != 0 {
		return *up
	}
	return q
}

// Tolerations admits pods to machines that are reserved for such pods: pods with GPUs, and pods
// for spot machines.
func Tolerations(r task.Resources) (all []corev1.Toleration) {
	if kind, _, count := GPUs(r); count > 0 {
		all = append(all, TolerationOf(kind))
	}
	if r.UseSpot {
		all = append(all, SpotTolerations()...)
	}
	return all
}

// TolerationOf returns the toleration of pods that request an extended resource.
func TolerationOf(kind corev1.ResourceName) corev1.Toleration {
	return corev1.Toleration{Key: string(kind), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}
}

// NodeSelector returns a selector of the machines on which the pods of a task may run; nil
// means any machine.
func NodeSelector(r task.Resources) *corev1.NodeSelector {
	terms := modelTerms(r)
	if r.UseSpot {
		terms = Both(terms, spotTerms())
	}
	if terms == nil {
		return nil
	}
	return &corev1.NodeSelector{NodeSelectorTerms: terms}
}

// modelTerms selects the machines whose labels name the GPU model of the task. Any of the
// labels in use suffices; nil means any machine.
func modelTerms(r task.Resources) (terms []corev1.NodeSelectorTerm) {
	_, model, count := GPUs(r)
	if model == "" {
		return nil
	}
	for _, s := range gpu.ModelOf(model).Selectors {
		terms = append(terms, termOf(s.Label, s.Values...))
	}
	if topology := gpu.TPUTopology(model, count); topology != "" {
		return Both(terms, []corev1.NodeSelectorTerm{termOf(gpu.LabelTPUTopology, topology)})
	}
	return terms
}

func termOf(label string, values ...string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: label, Operator: corev1.NodeSelectorOpIn, Values: values}}}
}

// Both returns terms that match a machine if and only if one term of first and one of second
// match it. nil matches any machine.
func Both(first, second []corev1.NodeSelectorTerm) (all []corev1.NodeSelectorTerm) {
	if first == nil {
		return second
	}
	for _, a := range first {
		if len(a.MatchExpressions) == 0 {
			continue // matches no machine
		}
		for _, b := range second {
			all = append(all, corev1.NodeSelectorTerm{MatchExpressions: slices.Concat(a.MatchExpressions, b.MatchExpressions)})
		}
	}
	if all == nil {
		return []corev1.NodeSelectorTerm{{}}
	}
	return all
}
