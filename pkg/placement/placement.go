// Package placement says what one node of a task requires of the machine that runs
// it: resources, labels and tolerations. The controller writes this into pods, and
// the store compares it with the machines of the cluster. It is pure.
package placement

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/gpu"
)

// GPUs returns the extended resource that a container requests, the model, and how
// many; model is "" if any model will do, and count is 0 without GPUs.
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

// Resources returns the requests and limits of the container: processor and memory
// as both, GPUs as limits, disk as a request. A value that does not parse was
// rejected when the task was submitted; it requests nothing.
func Resources(r task.Resources) corev1.ResourceRequirements {
	requests := corev1.ResourceList{}
	if q, ok := parse(r.CPU()); ok {
		requests[corev1.ResourceCPU] = q
	}
	if q, ok := parse(r.RAM()); ok {
		requests[corev1.ResourceMemory] = WholeBytes(q)
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

// WholeBytes returns q, rounded up if it is no whole number of bytes.
func WholeBytes(q resource.Quantity) resource.Quantity {
	if up := resource.NewQuantity(q.Value(), q.Format); up.Cmp(q) != 0 {
		return *up
	}
	return q
}

// Tolerations admit pods with GPUs to machines that are reserved for such pods.
func Tolerations(r task.Resources) []corev1.Toleration {
	kind, _, count := GPUs(r)
	if count == 0 {
		return nil
	}
	return []corev1.Toleration{{Key: string(kind), Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}
}

// ModelSelector selects the machines whose labels name the model of GPUs that the
// task requests, by any of the labels in use; nil means any machine.
func ModelSelector(r task.Resources) *corev1.NodeSelector {
	_, model, _ := GPUs(r)
	if model == "" {
		return nil
	}
	var terms []corev1.NodeSelectorTerm
	for _, s := range gpu.ModelOf(model).Selectors {
		terms = append(terms, corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: s.Label, Operator: corev1.NodeSelectorOpIn, Values: s.Values},
		}})
	}
	return &corev1.NodeSelector{NodeSelectorTerms: terms}
}
