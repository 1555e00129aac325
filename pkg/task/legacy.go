package task

import "strconv"

// The launcher that this one takes the place of wrote labels only: whose an object
// is they say by the sanitised name, and how many nodes a task has an annotation.

// LegacySubmit returns what the labels of a Job say of the submission that it is
// of; ok is false if that launcher did not make it.
func LegacySubmit(labels, annotations map[string]string) (s Submit, ok bool) {
	nodes, err := strconv.Atoi(annotations[AnnotationNodes])
	s = Submit{ID: labels[LabelTaskID], User: labels[LabelUser], Task: Spec{Name: labels[LabelTaskName], NumNodes: nodes}}
	return s, labels[LabelTask] == "true" && s.ID != "" && s.User != "" && err == nil && nodes >= 1 && nodes <= MaxNodes && !isLegacyObject(labels, annotations)
}

// LegacyCreate does so for a claim.
func LegacyCreate(labels, annotations map[string]string) (c Create, ok bool) {
	c = Create{ID: labels[LabelVolumeID], User: labels[LabelUser], Volume: Volume{Name: labels[LabelVolumeName]}}
	return c, labels[LabelVolume] == "true" && c.ID != "" && c.User != "" && c.Volume.Name != "" && !isLegacyObject(labels, annotations)
}

func isLegacyObject(labels, annotations map[string]string) bool {
	return labels[LabelOwner] != "" || annotations[AnnotationUser] != "" || annotations[AnnotationSubmission] != ""
}
