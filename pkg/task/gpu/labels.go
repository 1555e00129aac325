package gpu

import (
	"maps"
	"slices"
	"strings"
)

// ModelIn returns the model of the GPUs of a node with these labels, as a task
// file may name it, or else in the words of the label; it is empty if no label
// says.
func ModelIn(labels map[string]string) string {
	for _, label := range []string{
		LabelModel, "nvidia.com/gpu.product", "cloud.google.com/gke-accelerator", "gpu.nvidia.com/class",
		"karpenter.k8s.aws/instance-gpu-name", "nebius.com/gpu-name", "amd.com/gpu.product-name", "beta.amd.com/gpu.product-name",
	} {
		if value := labels[label]; value != "" {
			return modelFor(Selector{label, []string{value}})
		}
	}
	return ""
}

// modelFor returns the first of the models whose nodes may have the label with
// the value, in capitals, or else the value.
func modelFor(has Selector) string {
	value := has.Values[0]
	for _, name := range slices.Sorted(maps.Keys(models)) {
		if slices.ContainsFunc(ModelOf(name).Selectors, func(s Selector) bool {
			return s.Label == has.Label && slices.Contains(s.Values, value)
		}) {
			return strings.ToUpper(name)
		}
	}
	return value
}
