// Package gpu knows the models of GPUs as task files name them, and how the nodes
// that have them are labelled.
package gpu

import (
	"regexp"
	"strings"
)

// There is no standard of labels: whoever installs GPUs into a cluster labels its
// nodes, the cloud or an operator of the vendor's, each in words of its own.

// The resources that the device plugins of the vendors offer.
const (
	Nvidia = "nvidia.com/gpu"
	AMD    = "amd.com/gpu"
)

// LabelModel is the label that an administrator may give a node, whoever makes
// its GPUs: the model in small letters.
const LabelModel = "skypilot.co/accelerator"

// A Selector is a label and the values of it that nodes with a model may have.
type Selector struct {
	Label  string
	Values []string
}

// A Model is a kind of GPU.
type Model struct {
	Known     bool       // its names are in the table below
	Resource  string     // what a container asks for
	Selectors []Selector // one of them has to hold for a node
}

// names are what others call a model.
type names struct {
	products []string // nvidia.com/gpu.product, of NVIDIA's GPU feature discovery: the product's name with dashes
	gke      string   // cloud.google.com/gke-accelerator
	classes  []string // gpu.nvidia.com/class, of CoreWeave
}

// models are by SkyPilot's names, in small letters. Product names are those of
// nvidia-smi, GKE's of https://cloud.google.com/kubernetes-engine/docs/concepts/gpus.
var models = map[string]names{
	"k80":          {[]string{"Tesla-K80"}, "nvidia-tesla-k80", nil},
	"p4":           {[]string{"Tesla-P4"}, "nvidia-tesla-p4", nil},
	"p100":         {[]string{"Tesla-P100-PCIE-16GB", "Tesla-P100-SXM2-16GB"}, "nvidia-tesla-p100", nil},
	"t4":           {[]string{"Tesla-T4", "NVIDIA-T4"}, "nvidia-tesla-t4", nil},
	"v100":         {[]string{"Tesla-V100-SXM2-16GB", "Tesla-V100-PCIE-16GB"}, "nvidia-tesla-v100", []string{"Tesla_V100_NVLINK"}},
	"v100-32gb":    {[]string{"Tesla-V100-SXM2-32GB", "Tesla-V100-SXM3-32GB", "Tesla-V100-PCIE-32GB"}, "", nil},
	"a10":          {[]string{"NVIDIA-A10"}, "", nil},
	"a10g":         {[]string{"NVIDIA-A10G"}, "", nil},
	"a16":          {[]string{"NVIDIA-A16"}, "", nil},
	"a30":          {[]string{"NVIDIA-A30"}, "", nil},
	"a40":          {[]string{"NVIDIA-A40"}, "", []string{"A40"}},
	"a100":         {[]string{"NVIDIA-A100-SXM4-40GB", "NVIDIA-A100-PCIE-40GB", "A100-SXM4-40GB", "A100-PCIE-40GB"}, "nvidia-tesla-a100", []string{"A100_NVLINK", "A100_PCIE_40GB"}},
	"a100-80gb":    {[]string{"NVIDIA-A100-SXM4-80GB", "NVIDIA-A100-80GB-PCIe", "A100-SXM4-80GB"}, "nvidia-a100-80gb", []string{"A100_NVLINK_80GB", "A100_PCIE_80GB"}},
	"l4":           {[]string{"NVIDIA-L4"}, "nvidia-l4", nil},
	"l40":          {[]string{"NVIDIA-L40"}, "", []string{"L40"}},
	"l40s":         {[]string{"NVIDIA-L40S"}, "", []string{"L40S"}},
	"h100":         {[]string{"NVIDIA-H100-80GB-HBM3", "NVIDIA-H100-PCIe", "NVIDIA-H100-NVL"}, "nvidia-h100-80gb", []string{"H100", "H100_NVLINK_80GB", "H100_PCIE"}},
	"h100-mega":    {[]string{"NVIDIA-H100-80GB-HBM3"}, "nvidia-h100-mega-80gb", nil},
	"h200":         {[]string{"NVIDIA-H200", "NVIDIA-H200-NVL"}, "nvidia-h200-141gb", []string{"H200"}},
	"gh200":        {[]string{"NVIDIA-GH200-480GB", "NVIDIA-GH200-120GB"}, "", []string{"GH200_480GB"}},
	"b200":         {[]string{"NVIDIA-B200"}, "nvidia-b200", []string{"B200"}},
	"b300":         {[]string{"NVIDIA-B300-SXM6-AC", "NVIDIA-B300"}, "", []string{"B300"}},
	"gb200":        {[]string{"NVIDIA-GB200"}, "nvidia-gb200", []string{"GB200"}},
	"gb300":        {[]string{"NVIDIA-GB300"}, "", []string{"GB300"}},
	"rtxa4000":     {[]string{"NVIDIA-RTX-A4000"}, "", []string{"RTX_A4000"}},
	"rtxa5000":     {[]string{"NVIDIA-RTX-A5000"}, "", []string{"RTX_A5000"}},
	"rtxa6000":     {[]string{"NVIDIA-RTX-A6000"}, "", []string{"RTX_A6000"}},
	"a6000":        {[]string{"NVIDIA-RTX-A6000"}, "", []string{"RTX_A6000"}},
	"rtx3090":      {[]string{"NVIDIA-GeForce-RTX-3090"}, "", nil},
	"rtx4090":      {[]string{"NVIDIA-GeForce-RTX-4090"}, "", nil},
	"rtx5090":      {[]string{"NVIDIA-GeForce-RTX-5090"}, "", nil},
	"rtx6000-ada":  {[]string{"NVIDIA-RTX-6000-Ada-Generation"}, "", nil},
	"rtx-pro-6000": {[]string{"NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"}, "nvidia-rtx-pro-6000", nil},
}

var amdForm = regexp.MustCompile(`^(?:mi[0-9]{2,3}[a-z]{0,2}|radeon.*)$`)

// ModelOf returns what is known of the model that a task file names. A name
// that is not in the table may be a product's own, or that of a LabelModel.
func ModelOf(name string) Model {
	small := strings.ToLower(name)
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
