package objects

import (
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A task that asks for GPUs gets them as limits, nodes of the model that it
// names, and as much shared memory as it has memory.

const (
	sharedMemory = "dshm" // SkyPilot's name for it, so that a pod_config finds it
	sharedDir    = "/dev/shm"
)

// addSharedMemory mounts memory where programs of several processes exchange
// their data: 64 MB, which is what a container has otherwise, are too few for
// them. It counts against the memory that the task asks for.
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

// requireModel has pods run only on nodes that selector selects, beside what else is
// required of them.
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

// both returns terms of which one holds where one of first and one of second do.
func both(first, second []corev1.NodeSelectorTerm) (all []corev1.NodeSelectorTerm) {
	for _, a := range first {
		if len(a.MatchExpressions) == 0 {
			continue // holds for no node
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
