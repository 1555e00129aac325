package gpu

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestModelOfANodeByItsLabels(t *testing.T) {
	for _, tt := range []struct {
		label, value, want string
	}{
		{"nvidia.com/gpu.product", "NVIDIA-H100-PCIe", "H100"},
		{"nvidia.com/gpu.product", "Tesla-T4", "T4"},
		{"cloud.google.com/gke-accelerator", "nvidia-l4", "L4"},
		{"gpu.nvidia.com/class", "A100_NVLINK_80GB", "A100-80GB"},
		{LabelModel, "v100-32gb", "V100-32GB"},
		{"amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM", "AMD_Instinct_MI300X_OAM"},
		{"nvidia.com/gpu.product", "NVIDIA-Next-1", "NVIDIA-Next-1"},
		{"kubernetes.io/arch", "amd64", ""},
	} {
		if got := ModelIn(map[string]string{tt.label: tt.value}); got != tt.want {
			t.Errorf("%s=%s is %q, want %q", tt.label, tt.value, got, tt.want)
		}
	}
}

// TestShownModelIsAValidRequest checks that the GPU model in a hint is a valid request,
// and that the request matches the same machine.
func TestShownModelIsAValidRequest(t *testing.T) {
	for name := range models {
		for _, s := range ModelOf(name).Selectors {
			for _, value := range s.Values {
				shown := ModelIn(map[string]string{s.Label: value})
				if _, _, err := (task.Resources{Accelerators: shown}).GPUs(); err != nil {
					t.Errorf("%s=%s is shown as %s, which cannot be asked for: %v", s.Label, value, shown, err)
				}
				if again := modelFor(Selector{s.Label, []string{value}}); again != shown {
					t.Errorf("%s=%s is shown as %s and as %s", s.Label, value, shown, again)
				}
			}
		}
	}
}
