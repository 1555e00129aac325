package gpu

import (
	"slices"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

func TestModels(t *testing.T) {
	for _, tt := range []struct {
		name     string
		known    bool
		resource string
		label    string
		value    string
	}{
		{"H100", true, Nvidia, "nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
		{"h100", true, Nvidia, LabelModel, "h100"},
		{"A100", true, Nvidia, "cloud.google.com/gke-accelerator", "nvidia-tesla-a100"},
		{"A100-80GB", true, Nvidia, "cloud.google.com/gke-accelerator", "nvidia-a100-80gb"},
		{"H100-80GB", true, Nvidia, "cloud.google.com/gke-accelerator", "nvidia-h100-80gb"},
		{"H100-PCIe", true, Nvidia, "nvidia.com/gpu.product", "NVIDIA-H100-PCIe"},
		{"A5000", true, Nvidia, "nvidia.com/gpu.product", "NVIDIA-RTX-A5000"},
		{"T4g", true, Nvidia, "nvidia.com/gpu.product", "NVIDIA-T4G"},
		{"T4", true, Nvidia, "nvidia.com/gpu.product", "Tesla-T4"},
		{"MI300", true, AMD, LabelModel, "mi300"},
		{"MI300X", true, AMD, "amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"},
		{"Next1", false, Nvidia, LabelModel, "next1"},
		{"NVIDIA-H100-80GB-HBM3", false, Nvidia, "nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"},
		{"tpu-v5-lite-podslice", true, TPU, LabelTPU, "tpu-v5-lite-podslice"},
		{"mix", false, Nvidia, LabelModel, "mix"},
	} {
		m := ModelOf(tt.name)
		if m.Known != tt.known || m.Resource != tt.resource {
			t.Errorf("%s: known %t, %s", tt.name, m.Known, m.Resource)
		}
		if !slices.ContainsFunc(m.Selectors, func(s Selector) bool { return s.Label == tt.label && slices.Contains(s.Values, tt.value) }) {
			t.Errorf("%s: %v lacks %s=%s", tt.name, m.Selectors, tt.label, tt.value)
		}
	}
}

// TestSelectorsAreLabels checks that the selectors of every model are valid labels.
func TestSelectorsAreLabels(t *testing.T) {
	all := []string{"X", strings.Repeat("m", 50), "a.b_c-9", "Radeon9070", "mi300x"}
	for name := range models {
		all = append(all, name)
	}
	for _, name := range all {
		if _, _, err := (task.Resources{Accelerators: name}).GPUs(); err != nil {
			t.Errorf("%s cannot be asked for: %v", name, err)
		}
		for _, s := range ModelOf(name).Selectors {
			if err := task.CheckLabelKey(s.Label); err != nil {
				t.Error(err)
			}
			for _, value := range s.Values {
				if err := task.CheckLabelValue(value); err != nil || value == "" {
					t.Errorf("%s: %q %v", name, value, err)
				}
			}
		}
	}
}
