package task

import (
	"maps"
	"testing"
)

func TestLabelsOfTheOriginalBecomeASubmission(t *testing.T) {
	labels := map[string]string{LabelTask: "true", LabelTaskID: "0a1b2c3d", LabelTaskName: "train", LabelUser: "ann"}
	annotations := map[string]string{AnnotationNodes: "2", AnnotationCreated: "2025-10-05T12:00:00.123456"}
	s, ok := LegacySubmit(labels, annotations)
	if !ok || s.ID != "0a1b2c3d" || s.User != "ann" || s.Task.Name != "train" || s.Task.NumNodes != 2 {
		t.Errorf("%+v, %t", s, ok)
	}
	for name, change := range map[string]func(labels, annotations map[string]string){
		"no task":          func(l, _ map[string]string) { delete(l, LabelTask) },
		"no id":            func(l, _ map[string]string) { delete(l, LabelTaskID) },
		"no user":          func(l, _ map[string]string) { delete(l, LabelUser) },
		"no nodes":         func(_, a map[string]string) { delete(a, AnnotationNodes) },
		"too many nodes":   func(_, a map[string]string) { a[AnnotationNodes] = "100000000" },
		"fewer than none":  func(_, a map[string]string) { a[AnnotationNodes] = "-1" },
		"ours, by a label": func(l, _ map[string]string) { l[LabelOwner] = "x" },
		"ours, by a user":  func(_, a map[string]string) { a[AnnotationUser] = "ann" },
		"ours, by a hash":  func(_, a map[string]string) { a[AnnotationSubmission] = "x" },
	} {
		l, a := maps.Clone(labels), maps.Clone(annotations)
		if change(l, a); func() bool { _, ok := LegacySubmit(l, a); return ok }() {
			t.Errorf("%s: taken for one of the original", name)
		}
	}
	volume := map[string]string{LabelVolume: "true", LabelVolumeID: "v", LabelVolumeName: "data", LabelUser: "ann"}
	if c, ok := LegacyCreate(volume, nil); !ok || c.ID != "v" || c.User != "ann" || c.Volume.Name != "data" {
		t.Errorf("%+v, %t", c, ok)
	}
	if _, ok := LegacyCreate(volume, map[string]string{AnnotationSubmission: "x"}); ok {
		t.Error("a claim of ours is taken for one of the original")
	}
}

func TestNumberOfNodesInTheLabelsOfTheOriginal(t *testing.T) {
	labels := map[string]string{LabelTask: "true", LabelTaskID: "0a1b2c3d", LabelUser: "ann"}
	for nodes, want := range map[string]bool{"0": false, "1": true, "10000": true, "10001": false, "two": false} {
		if _, ok := LegacySubmit(labels, map[string]string{AnnotationNodes: nodes}); ok != want {
			t.Errorf("%s nodes: %v, want %v", nodes, ok, want)
		}
	}
}
