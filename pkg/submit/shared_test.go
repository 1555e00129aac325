package submit

import (
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

// Several nodes mount a volume only if its access modes allow it.
func TestVolumesOfSeveralNodes(t *testing.T) {
	for _, tt := range []struct {
		name  string
		nodes int
		modes string
		hosts int // 0 if the number is not known
		says  string
	}{
		{"one node", 1, "ReadWriteOncePod", 3, ""},
		{"many may write", 2, "ReadWriteOnce ReadWriteMany", 3, ""},
		{"many may read", 2, "ReadOnlyMany", 3, ""},
		{"one pod", 2, "ReadWriteOncePod", 1, "volume data is ReadWriteOncePod: only one pod can mount the volume, but the task has 2 nodes that mount it; create a volume with the access mode ReadWriteMany, give"},
		{"one host of one", 2, "ReadWriteOnce", 1, ""},
		{"one host of many", 4, "ReadWriteOnce", 3, "volume data is ReadWriteOnce: only the pods of one machine can mount the volume, but the task has 4 nodes that mount it, which may run on any of 3 machines; create"},
		{"one host of nobody knows how many", 2, "ReadWriteOnce", 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestCluster(t)
			if tt.hosts > 0 {
				w.setNodes(tt.hosts)
			}
			w.append(
				task.Command{Create: &task.Create{ID: "v", User: "ann", Volume: task.Volume{Name: "data", Size: "1Gi", AccessModes: strings.Fields(tt.modes)}}},
				task.Command{Applied: &task.Applied{Key: volumeKey("v"), UIDs: []string{"u"}}},
				task.Command{Submit: &task.Submit{ID: "a", User: "ann", Image: "i", Task: task.Spec{
					Name: "train", NumNodes: tt.nodes, Run: "true", Volumes: map[string]string{"/data": "data"},
				}}},
			)
			if tt.says == "" {
				w.must("a", "resolved")
				return
			}
			w.must("a", "rejected")
			if r := w.record("a"); r.Phase != task.Failed || r.Reason != task.ReasonUnshared || !strings.HasPrefix(r.Message, tt.says) {
				t.Errorf("%s, %s: %s", r.Phase, r.Reason, r.Message)
			}
			if jobs := w.jobsByName(); len(jobs) > 0 {
				t.Errorf("jobs %v", jobs)
			}
		})
	}
}
