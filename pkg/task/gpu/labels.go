package gpu

import (
	"maps"
	"slices"
	"strings"
)

// ModelIn returns the GPU model of a machine with these labels: a name that task files may
// use, or else the value of the label. ModelIn returns "" if no label names a model.
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

// modelFor returns the first model, in capitals, whose machines may have the label, or else
// the value of the label.
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
