// Package gpu maps models of GPUs and TPUs to labels of machines. The task file names a model;
// a label marks the machines that have the model.
package gpu

import (
	"regexp"
	"strings"
)

// There is no standard for the labels of machines with GPUs. Clouds and the operators of
// the vendors each use labels of their own.

// The extended resources of the vendors' device plugins.
const (
	Nvidia = "nvidia.com/gpu"
	AMD    = "amd.com/gpu"
)

// LabelModel is the label that an administrator may set on a machine with GPUs of any
// vendor. Its value is the model in lower case.
const LabelModel = "skypilot.co/accelerator"

// A Selector is a label and its possible values on machines with a model.
type Selector struct {
	Label  string
	Values []string
}

// A Model describes how to request one GPU model.
type Model struct {
	Known     bool       // the model is in the table of models
	Resource  string     // extended resource that a container requests
	Selectors []Selector // a machine must match at least one
}

// names contains the names of a model outside SkyPilot.
type names struct {
	// nvidia.com/gpu.product of NVIDIA's GPU feature discovery: the product name with
	// dashes
	products []string
	gke      string   // cloud.google.com/gke-accelerator
	classes  []string // gpu.nvidia.com/class of CoreWeave
}

// models maps SkyPilot's names, in lower case, to other names. Product names are from
// nvidia-smi, GKE's names from
// https://cloud.google.com/kubernetes-engine/docs/concepts/gpus.
var models = map[string]names{
	"k80":           {[]string{"Tesla-K80"}, "nvidia-tesla-k80", nil},
	"p4":            {[]string{"Tesla-P4"}, "nvidia-tesla-p4", nil},
	"p100":          {[]string{"Tesla-P100-PCIE-16GB", "Tesla-P100-SXM2-16GB"}, "nvidia-tesla-p100", nil},
	"p40":           {[]string{"Tesla-P40"}, "", nil},
	"p4000":         {[]string{"Quadro-P4000"}, "", nil},
	"m60":           {[]string{"Tesla-M60"}, "", nil},
	"t4g":           {[]string{"NVIDIA-T4G"}, "", nil},
	"t4":            {[]string{"Tesla-T4", "NVIDIA-T4"}, "nvidia-tesla-t4", nil},
	"v100":          {[]string{"Tesla-V100-SXM2-16GB", "Tesla-V100-PCIE-16GB"}, "nvidia-tesla-v100", []string{"Tesla_V100_NVLINK"}},
	"v100-32gb":     {[]string{"Tesla-V100-SXM2-32GB", "Tesla-V100-SXM3-32GB", "Tesla-V100-PCIE-32GB"}, "", nil},
	"a10":           {[]string{"NVIDIA-A10"}, "", nil},
	"a10g":          {[]string{"NVIDIA-A10G"}, "", nil},
	"a16":           {[]string{"NVIDIA-A16"}, "", nil},
	"a30":           {[]string{"NVIDIA-A30"}, "", nil},
	"a40":           {[]string{"NVIDIA-A40"}, "", []string{"A40"}},
	"a100":          {[]string{"NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB", "A100-SXM4-40GB", "A100-PCIE-40GB"}, "nvidia-tesla-a100", []string{"A100_NVLINK", "A100_PCIE_40GB"}},
	"a100-80gb":     {[]string{"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe", "A100-SXM4-80GB"}, "nvidia-a100-80gb", []string{"A100_NVLINK_80GB", "A100_PCIE_80GB"}},
	"a100-80gb-sxm": {[]string{"NVIDIA-A100-SXM4-80GB", "A100-SXM4-80GB"}, "", []string{"A100_NVLINK_80GB"}},
	"l4":            {[]string{"NVIDIA-L4"}, "nvidia-l4", nil},
	"l40":           {[]string{"NVIDIA-L40"}, "", []string{"L40"}},
	"l40s":          {[]string{"NVIDIA-L40S"}, "", []string{"L40S"}},
	"h100":          {[]string{"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL"}, "nvidia-h100-80gb", []string{"H100", "H100_NVLINK_80GB", "H100_PCIE"}},
	"h100-mega":     {[]string{"NVIDIA-H100-80GB-HBM3"}, "nvidia-h100-mega-80gb", nil},
	"h100-80gb":     {[]string{"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL"}, "nvidia-h100-80gb", []string{"H100", "H100_NVLINK_80GB", "H100_PCIE"}},
	"h100-sxm":      {[]string{"NVIDIA-H100-80GB-HBM3"}, "nvidia-h100-80gb", []string{"H100", "H100_NVLINK_80GB"}},
	"h100-nvl":      {[]string{"NVIDIA-H100-NVL"}, "", nil},
	"h100-pcie":     {[]string{"NVIDIA-H100-PCIe"}, "", []string{"H100_PCIE"}},
	"h200-sxm":      {[]string{"NVIDIA-H200"}, "nvidia-h200-141gb", []string{"H200"}},
	"h200":          {[]string{"NVIDIA-H200", "NVIDIA-H200-NVL"}, "nvidia-h200-141gb", []string{"H200"}},
	"gh200":         {[]string{"NVIDIA-GH200-480GB", "NVIDIA-GH200-120GB"}, "", []string{"GH200_480GB"}},
	"b100":          {[]string{"NVIDIA-B100"}, "", nil},
	"b200":          {[]string{"NVIDIA-B200"}, "nvidia-b200", []string{"B200"}},
	"b300":          {[]string{"NVIDIA-B300-SXM6-AC", "NVIDIA-B300"}, "", []string{"B300"}},
	"gb200":         {[]string{"NVIDIA-GB200"}, "nvidia-gb200", []string{"GB200"}},
	"gb300":         {[]string{"NVIDIA-GB300"}, "", []string{"GB300"}},
	"rtxa4000":      {[]string{"NVIDIA-RTX-A4000"}, "", []string{"RTX_A4000"}},
	"rtxa5000":      {[]string{"NVIDIA-RTX-A5000"}, "", []string{"RTX_A5000"}},
	"rtxa6000":      {[]string{"NVIDIA-RTX-A6000"}, "", []string{"RTX_A6000"}},
	"a4000":         {[]string{"NVIDIA-RTX-A4000"}, "", []string{"RTX_A4000"}},
	"a5000":         {[]string{"NVIDIA-RTX-A5000"}, "", []string{"RTX_A5000"}},
	"a6000":         {[]string{"NVIDIA-RTX-A6000"}, "", []string{"RTX_A6000"}},
	"rtx3090":       {[]string{"NVIDIA-GeForce-RTX-3090"}, "", nil},
	"rtx4090":       {[]string{"NVIDIA-GeForce-RTX-4090"}, "", nil},
	"rtx5090":       {[]string{"NVIDIA-GeForce-RTX-5090"}, "", nil},
	"rtx6000-ada":   {[]string{"NVIDIA-RTX-6000-Ada-Generation"}, "", nil},
	"rtx-pro-6000":  {[]string{"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"}, "nvidia-rtx-pro-6000", nil},
}

var amdForm = regexp.MustCompile(`^(?:mi[0-9]{2,3}[a-z]{0,2}|radeon.*)$`)

// ModelOf returns the Model for a name in a task file. A name that is not in the table may
// be a product name or a value of LabelModel.
func ModelOf(name string) Model {
	small := strings.ToLower(name)
	if _, ok := tpus[small]; ok {
		return Model{true, TPU, []Selector{{LabelTPU, []string{small}}}}
	}
	own := Selector{LabelModel, []string{small}}
	if amdForm.MatchString(small) {
		upper := strings.ToUpper(name)
		products := []string{"AMD_Instinct_" + upper, "AMD_Instinct_" + upper + "_OAM", name}
		return Model{strings.HasPrefix(small, "mi"), AMD, []Selector{
			own, {"amd.com/gpu.product-name", products}, {"beta.amd.com/gpu.product-name", products},
		}}
	}
	n, known := models[small]
	if !known {
		n = names{[]string{"NVIDIA-" + name, "Tesla-" + name, name}, "nvidia-" + small, []string{name}}
	}
	all := []Selector{own}
	if n.gke != "" {
		all = append(all, Selector{"cloud.google.com/gke-accelerator", []string{n.gke}})
	}
	all = append(all, Selector{"karpenter.k8s.aws/instance-gpu-name", []string{small}}, Selector{"nvidia.com/gpu.product", n.products})
	if len(n.classes) > 0 {
		all = append(all, Selector{"gpu.nvidia.com/class", n.classes})
	}
	return Model{known, Nvidia, append(all, Selector{"nebius.com/gpu-name", []string{small, "nvidia-" + small}})}
}
