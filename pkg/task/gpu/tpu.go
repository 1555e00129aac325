package gpu

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// TPU is the extended resource of TPUs on GKE.
const TPU = "google.com/tpu"

// The labels of machines with TPUs on GKE.
const (
	LabelTPU         = "cloud.google.com/gke-tpu-accelerator"
	LabelTPUTopology = "cloud.google.com/gke-tpu-topology"
)

// tpus maps the models of TPUs, which are the values of LabelTPU, to the topologies of one machine
// by the number of chips. The numbers and topologies are from
// https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus.
var tpus = map[string]map[int]string{
	"tpu-v4-podslice":      {4: "2x2x1"},
	"tpu-v5-lite-device":   {1: "1x1", 4: "2x2", 8: "2x4"},
	"tpu-v5-lite-podslice": {1: "1x1", 4: "2x2", 8: "2x4"},
	"tpu-v5p-slice":        {4: "2x2x1"},
	"tpu-v6e-slice":        {1: "1x1", 4: "2x2", 8: "2x4"},
}

// IsTPU reports whether a name in a task file means a TPU.
func IsTPU(name string) bool { return strings.HasPrefix(strings.ToLower(name), "tpu") }

// tpuVM matches SkyPilot's names of TPU VMs. The number counts chips, or, of v4 and v5p, TensorCores, of
// which a chip has two (https://cloud.google.com/tpu/docs/v4, .../v5p).
var tpuVM = regexp.MustCompile(`^(?i:tpu-(v4|v5litepod|v5e|v5p|v6e)-([0-9]{1,5}))(?::1)?$`)

// TPUSlice returns the model and the chips, NAME:CHIPS, that GKE has for SkyPilot's name of a TPU VM, ""
// for other names.
func TPUSlice(name string) string {
	m := tpuVM.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	n, _ := strconv.Atoi(m[2])
	switch strings.ToLower(m[1]) {
	case "v4":
		return fmt.Sprintf("tpu-v4-podslice:%d", n/2)
	case "v5p":
		return fmt.Sprintf("tpu-v5p-slice:%d", n/2)
	case "v6e":
		return fmt.Sprintf("tpu-v6e-slice:%d", n)
	}
	return fmt.Sprintf("tpu-v5-lite-podslice:%d", n)
}

// CheckTPU returns an error if no machine of GKE has exactly this number of chips of a model. The
// chips of a slice that spans several machines work only together.
func CheckTPU(name string, chips int) error {
	topologies, known := tpus[strings.ToLower(name)]
	if !known {
		return fmt.Errorf("%s is not a TPU of GKE; name one of %s", name, strings.Join(slices.Sorted(maps.Keys(tpus)), ", "))
	}
	if topologies[chips] == "" {
		return fmt.Errorf("no machine has %d chips of %s; slices of several machines are not supported; request %s chips", chips, name, counts(topologies))
	}
	return nil
}

// counts returns the numbers of chips in words, for example "1, 4 or 8".
func counts(topologies map[int]string) string {
	var all []string
	for _, n := range slices.Sorted(maps.Keys(topologies)) {
		all = append(all, fmt.Sprint(n))
	}
	last := len(all) - 1
	if last == 0 {
		return all[0]
	}
	return strings.Join(all[:last], ", ") + " or " + all[last]
}

// TPUTopology returns the value of LabelTPUTopology on the machines with this number of chips of
// a model, or "" for other models.
func TPUTopology(name string, chips int) string { return tpus[strings.ToLower(name)][chips] }
