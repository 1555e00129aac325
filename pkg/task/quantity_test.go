package task

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

func TestCPU(t *testing.T) {
	for _, tt := range []struct{ name, text, same string }{ // same is the same quantity in Kubernetes notation
		{"a whole number", "4", "4"},
		{"at least", "4+", "4"},
		{"a fraction", "0.5", "500m"},
		{"a fraction at least", "0.5+", "500m"},
		{"a fraction as YAML has it too", ".25+", "250m"},
		{"a fraction of nothing", "2.0", "2"},
		{"thousandths", "500m", "500m"},
		{"thousandths at least", "1500m+", "1500m"},
		{"the least", "0.001", "1m"},
		{"leading zeros", "007", "7"},
		{"the most", "999999999", "999999999"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Resources{CPUs: tt.text}.CPU()
			checkQuantity(t, got, err, tt.same)
		})
	}
}

func TestCPURefuses(t *testing.T) {
	for _, text := range []string{
		"0", "0.0", "0m", "00", "-1", "+", "+4", "4++", "4 +", " 4", "4 ", "four", "4 cores", "1e3", "0x4", "4.", ".", ".m", ".0", "0.0001",
		"1.5m", "4Gi", "4k", "m", "NaN", "inf", "9999999999", "٤", "4\n", strings.Repeat("9", 1000),
	} {
		if got, err := (Resources{CPUs: text}).CPU(); err == nil {
			t.Errorf("%.40q is %q, want an error", text, got)
		}
	}
}

func TestRAM(t *testing.T) {
	for _, tt := range []struct{ name, text, same string }{
		{"GiB without a unit", "16", "16Gi"},
		{"at least", "16+", "16Gi"},
		{"a fraction", "0.5", "512Mi"},
		{"SkyPilot's binary units", "64GB", "64Gi"},
		{"in any case", "64gB", "64Gi"},
		{"with a blank", "64 GB+", "64Gi"},
		{"SkyPilot's thousandth", "512MB", "512Mi"},
		{"SkyPilot's thousand", "1tb", "1Ti"},
		{"Kubernetes' binary units", "4Gi", "4Gi"},
		{"Kubernetes' small unit", "512Ki", "512Ki"},
		{"a lone capital is decimal", "64M", "64000000"},
		{"a lone k is decimal", "64k", "64000"},
		{"the most of a unit", "8191Pi", "8191Pi"},
		{"leading zeros", "0016", "16Gi"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Resources{Memory: tt.text}.RAM()
			checkQuantity(t, got, err, tt.same)
		})
	}
}

func TestRAMRefuses(t *testing.T) {
	for _, text := range []string{
		"0", "0.0", "0Gi", "-1", "+16", "16++", "16  GB", "lots", "16x", "16GiB", "16 bytes", "16B", "16m", "16g", "16K", "1e3", "16.", ".5",
		"0.000001k", "8192Pi", "999999999999Pi", "9999999999999", "16\n", "16GB ", strings.Repeat("9", 1000),
	} {
		if got, err := (Resources{Memory: text}).RAM(); err == nil {
			t.Errorf("%.40q is %q, want an error", text, got)
		}
	}
}

func TestEmptyResourcesRequestNothing(t *testing.T) {
	var none Resources
	cpu, cpuErr := none.CPU()
	ram, ramErr := none.RAM()
	model, gpus, gpuErr := none.GPUs()
	if cpu != "" || ram != "" || model != "" || gpus != 0 || cpuErr != nil || ramErr != nil || gpuErr != nil {
		t.Errorf("no resources ask for %q, %q, %q, %d (%v, %v, %v)", cpu, ram, model, gpus, cpuErr, ramErr, gpuErr)
	}
}

func TestGPUs(t *testing.T) {
	for _, tt := range []struct {
		text  string
		model string
		count int
	}{
		{"1", "", 1},
		{"8", "", 8},
		{"0.5", "", 1},
		{"1.5", "", 2},
		{"A100", "A100", 1},
		{"A100:8", "A100", 8},
		{"T4:0.5", "T4", 1},
		{"A100-80GB:2.0", "A100-80GB", 2},
		{"RTX_4090.x:1", "RTX_4090.x", 1},
	} {
		model, count, err := Resources{Accelerators: tt.text}.GPUs()
		if model != tt.model || count != tt.count || err != nil {
			t.Errorf("%q is %q, %d, %v, want %q, %d", tt.text, model, count, err, tt.model, tt.count)
		}
	}
	for _, text := range []string{
		"0", "0.0", "A100:0", "-1", "A100:-1", ":", ":8", "A100:", "A100:x", "A100:8:1", "A100:8x", "80GB", "8:8", "1e3", "a b", "A100 :8", "A100:8+", "A100:1e1",
		"A100\n", "{A100: 8}", "_", "A100:0.0001", "A100:9999999", strings.Repeat("A", 100),
	} {
		if model, count, err := (Resources{Accelerators: text}).GPUs(); err == nil {
			t.Errorf("%.40q is %q, %d, want an error", text, model, count)
		}
	}
}

func TestImage(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "alpine": "alpine", "docker:alpine": "alpine", "docker:ghcr.io/a/b:1": "ghcr.io/a/b:1", "docker.io/a": "docker.io/a",
	} {
		if got := (Resources{ImageID: text}).Image(); got != want {
			t.Errorf("the image of %q is %q, want %q", text, got, want)
		}
	}
}

func TestSize(t *testing.T) {
	for _, text := range []string{"10Gi", "1Ti", "1.5Gi", "500M", "1k", "1Ki", "7Ei", "0.5Gi", "010Gi"} {
		if err := checkSize(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if q, err := resource.ParseQuantity(text); err != nil || q.Sign() <= 0 {
			t.Errorf("Kubernetes makes of %q: %v, %v", text, q, err)
		}
	}
	for _, text := range []string{
		"", "10", "0Gi", "0.0Gi", "-1Gi", "+1Gi", "10GB", "10gi", "10 Gi", "Gi", "1e3", "1e3Gi", "10m", "10K", "0.000001k", "8Ei", "9999999Ei", "1.Gi", ".5Gi", "10Gi\n",
		strings.Repeat("9", 1000) + "Gi",
	} {
		if err := checkSize(text); err == nil {
			t.Errorf("%.40q is a size, want an error", text)
		}
	}
}

// FuzzQuantities checks that every accepted amount is a positive quantity in Kubernetes.
func FuzzQuantities(f *testing.F) {
	for _, text := range []string{"4", "4+", "0.5", "500m", "64GB", "64 gb+", "512Mi", "1.5Ti", "0.000001k", "8191Pi", "1e3", "A100:0.5"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r := Resources{CPUs: text, Memory: text, Accelerators: text}
		if got, err := r.CPU(); err == nil && text != "" {
			checkPositive(t, text, got)
		}
		if got, err := r.RAM(); err == nil && text != "" {
			checkPositive(t, text, got)
		}
		if checkSize(text) == nil {
			checkPositive(t, text, text)
		}
		if _, count, err := r.GPUs(); err == nil && text != "" && count < 1 {
			t.Errorf("%q are %d GPUs", text, count)
		}
	})
}

func checkPositive(t *testing.T, text, quantity string) {
	t.Helper()
	q, err := resource.ParseQuantity(quantity)
	if err != nil || q.Sign() <= 0 {
		t.Errorf("%q became %q, which is %s to Kubernetes (%v)", text, quantity, q.String(), err)
	}
}

func checkQuantity(t *testing.T, got string, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	q, err := resource.ParseQuantity(got)
	if err != nil {
		t.Fatalf("Kubernetes does not take %q: %v", got, err)
	}
	if q.Cmp(resource.MustParse(want)) != 0 {
		t.Errorf("%q is not as much as %s", got, want)
	}
}

func TestTimeLimits(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": 0, "1s": time.Second, "90s": 90 * time.Second, "30m": 30 * time.Minute, "2h": 2 * time.Hour, "1h30m": 90 * time.Minute,
		"1d": 24 * time.Hour, "2w1d": 15 * 24 * time.Hour, "365d": maxDuration,
	} {
		s := Spec{Run: "x", MaxDuration: text}
		if got, err := s.TimeLimit(); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, err, want)
		}
		if err := s.Validate(); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"90":   `max_duration: "90" is not a duration with a unit, for example 90s, 30m, 2h, 1h30m, 1d or 2w`,
		"1.5h": "is not a duration", "-1h": "is not a duration", "1h 30m": "is not a duration", "30m1h": "is not a duration", "x": "is not a duration",
		"9999999999s": "is not a duration",
		"0s":          `"0s" is not between 1s and 365d`, "0h0m": "is not between", "366d": "is not between", "999999999w999999999d": "is not between",
	} {
		if err := (Spec{Run: "x", MaxDuration: text}).Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
