package task

import "strconv"

// The original launcher, which k8s-cli replaces, wrote only labels: an object names its
// owner by the sanitised user name, and an annotation contains the number of nodes.

// LegacySubmit returns the submission in the labels of a Job of the original launcher. ok
// is false for Jobs of another origin.
func LegacySubmit(labels, annotations map[string]string) (s Submit, ok bool) {
	nodes, err := strconv.Atoi(annotations[AnnotationNodes])
	s = Submit{ID: labels[LabelTaskID], User: labels[LabelUser], Task: Spec{Name: labels[LabelTaskName], NumNodes: nodes}}
	return s, labels[LabelTask] == "true" && s.ID != "" && s.User != "" && err == nil && nodes >= 1 && nodes <= MaxNodes && !isLegacyObject(labels, annotations)
}

// LegacyCreate returns the creation in the labels of a claim of the original launcher. ok
// is false for claims of another origin.
func LegacyCreate(labels, annotations map[string]string) (c Create, ok bool) {
	c = Create{ID: labels[LabelVolumeID], User: labels[LabelUser], Volume: Volume{Name: labels[LabelVolumeName]}}
	return c, labels[LabelVolume] == "true" && c.ID != "" && c.User != "" && c.Volume.Name != "" && !isLegacyObject(labels, annotations)
}

func isLegacyObject(labels, annotations map[string]string) bool {
	return labels[LabelOwner] != "" || annotations[AnnotationUser] != "" || annotations[AnnotationSubmission] != ""
}
