package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A task that requests GPUs gets them as limits, runs on nodes of the requested model, and
// gets as much shared memory as it has memory.

const (
	sharedMemory = "dshm" // SkyPilot's name of the volume, so that a pod_config can change it
	sharedDir    = "/dev/shm"
)

// addSharedMemory mounts an emptyDir in memory at /dev/shm, through which processes exchange
// data. The default of 64 MB is too little for them. Shared memory counts towards the memory
// of the task.
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

// requireModel restricts a pod to nodes that selector selects, in addition to its other
// requirements.
func requireModel(s *corev1.PodSpec, selector *corev1.NodeSelector) {
	terms := selector.NodeSelectorTerms
	if s.Affinity == nil {
		s.Affinity = &corev1.Affinity{}
	}
	if s.Affinity.NodeAffinity == nil {
		s.Affinity.NodeAffinity = &corev1.NodeAffinity{}
	}
	nodes := s.Affinity.NodeAffinity
	if others := nodes.RequiredDuringSchedulingIgnoredDuringExecution; others != nil {
		terms = both(others.NodeSelectorTerms, terms)
	}
	nodes.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
}

// both returns terms that match a node if and only if one term of first and one of second
// match it.
func both(first, second []corev1.NodeSelectorTerm) (all []corev1.NodeSelectorTerm) {
	for _, a := range first {
		if len(a.MatchExpressions) == 0 {
			continue // matches no node
		}
		for _, b := range second {
			all = append(all, corev1.NodeSelectorTerm{MatchExpressions: slices.Concat(a.MatchExpressions, b.MatchExpressions)})
		}
	}
	if all == nil {
		return []corev1.NodeSelectorTerm{{}}
	}
	return all
}
