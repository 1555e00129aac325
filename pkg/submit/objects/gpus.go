package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/placement"
)

// A task that requests GPUs gets them as limits, runs on nodes of the requested model, and
// gets as much shared memory as it has memory.

const (
	sharedMemory = "dshm" // SkyPilot's name of the volume, so that a pod_config can change it
	sharedDir    = "/dev/shm"
)

// addSharedMemory mounts an emptyDir in memory at /dev/shm, through which processes exchange
// data: 64 MB, the default of container runtimes, is too little for them. Shared memory counts
// towards the memory of the task, which Kubernetes also makes the size of the emptyDir.
func addSharedMemory(s *corev1.PodSpec) {
	c := &s.Containers[0]
	if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return path.Clean(m.MountPath) == sharedDir }) {
		return
	}
	s.Volumes = append(s.Volumes, corev1.Volume{Name: sharedMemory, VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory},
	}})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: sharedMemory, MountPath: sharedDir})
}

// requireMachines restricts a pod to machines that selector selects, in addition to its other
// requirements.
func requireMachines(s *corev1.PodSpec, selector *corev1.NodeSelector) {
	terms := selector.NodeSelectorTerms
	if s.Affinity == nil {
		s.Affinity = &corev1.Affinity{}
	}
	if s.Affinity.NodeAffinity == nil {
		s.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	nodes := s.Affinity.NodeAffinity
	if others := nodes.RequiredDuringSchedulingIgnoredDuringExecution; others != nil {
		terms = placement.Both(others.NodeSelectorTerms, terms)
	}
	nodes.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
}
