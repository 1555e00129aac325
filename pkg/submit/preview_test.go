package submit

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// storeWithVolumes returns a store of a cluster with three nodes, in which ann has a volume of
// each access mode in modes, by name.
func storeWithVolumes(t *testing.T, modes map[string]string) *cache.Store {
	t.Helper()
	w := newTestCluster(t)
	for name, mode := range modes {
		w.appendAlone(
			task.Command{Create: &task.Create{ID: name, User: "ann", Volume: task.Volume{Name: name, Size: "1Gi", AccessModes: []string{mode}}}},
			task.Command{Applied: &task.Applied{Key: task.Key{Kind: task.KindVolume, ID: name}, UIDs: []string{"uid"}}},
		)
	}
	w.setNodes(3)
	return w.store
}

func TestPreviews(t *testing.T) {
	store := storeWithVolumes(t, map[string]string{"one": "ReadWriteOnce", "many": "ReadWriteMany"})
	for _, tt := range []struct {
		name     string
		task     task.Spec
		kinds    []string
		warnings []string // prefixes of the warnings
		text     []string // parts of the encoded objects
	}{
		{"the least", task.Spec{Run: "true"}, []string{"Job"}, nil, []string{`"name":"task-abcd1234-abcd1234"`, `"suspend":false`}},
		{"two nodes", task.Spec{Run: "true", NumNodes: 2}, []string{"Job", "Job", "Service"}, nil, []string{`"suspend":true`, `"clusterIP":"None"`}},
		{
			"many nodes",
			task.Spec{Run: "true", NumNodes: 9},
			[]string{"Job", "Job", "Job", "Job", "Service"},
			[]string{"num_nodes: showing the Jobs of 4 of 9 nodes"},
			nil,
		},
		{"secrets", task.Spec{Run: "true", Secrets: map[string]string{"TOKEN": task.Redacted}}, []string{"Job", "Secret"}, nil, []string{`"stringData":{"TOKEN":"<redacted>"}`}},
		{"files", task.Spec{Run: "true", Uploads: map[string]string{"/data": strings.Repeat("a", 64)}}, []string{"Job", "Secret"}, nil, []string{`"files.token":"<redacted>"`}},
		{"a volume", task.Spec{Run: "true", Volumes: map[string]string{"/data": "one"}}, []string{"Job"}, nil, []string{`"claimName":"one-one"`}},
		{
			"a volume that is not there",
			task.Spec{Run: "true", Volumes: map[string]string{"/data": "none"}},
			[]string{"Job"},
			[]string{`volumes: you have no volume "none", and there is no claim of that name that you may use; the task waits`},
			[]string{`"claimName":"none"`},
		},
		{
			"volumes of several nodes",
			task.Spec{Run: "true", NumNodes: 2, Volumes: map[string]string{"/a": "one", "/b": "many"}},
			[]string{"Job", "Job", "Service"},
			[]string{"volumes: the task will fail: volume one is ReadWriteOnce"},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects, warnings, err := Preview(store, task.Submit{ID: "abcd1234", User: "ann", Task: tt.task, Image: "image"}, "here")
			must.Succeed(t, err)
			var kinds []string
			all := ""
			for _, raw := range objects {
				var o struct{ Kind, APIVersion string }
				if err := json.Unmarshal(raw, &o); err != nil || o.APIVersion == "" {
					t.Fatalf("object %s: %v", raw, err)
				}
				kinds, all = append(kinds, o.Kind), all+string(raw)
			}
			if !slices.Equal(kinds, tt.kinds) {
				t.Errorf("kinds %q, want %q", kinds, tt.kinds)
			}
			if !slices.EqualFunc(warnings, tt.warnings, strings.HasPrefix) {
				t.Errorf("warnings %q, want %q", warnings, tt.warnings)
			}
			for _, text := range tt.text {
				if !strings.Contains(all, text) {
					t.Errorf("the objects lack %s:\n%s", text, all)
				}
			}
			var job batchv1.Job
			if err := json.Unmarshal(objects[0], &job); err != nil || job.Namespace != "here" || job.Spec.Template.Spec.Containers[0].Image != "image" {
				t.Errorf("job %+v, %v", job, err)
			}
		})
	}
}
