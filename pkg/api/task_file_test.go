package api

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

const yamlType = "application/yaml"

func TestATaskFileIsOneAtomicBatch(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		name, file string
		want       []task.Submit
	}{
		{"one task", "run: x\n", []task.Submit{{Key: "k/0", Group: "g"}}},
		{
			"a pipeline", "name: both\n---\nname: a\nrun: x\n---\nname: b\nrun: y\nresources: {disk_size: 10}\n",
			[]task.Submit{{Key: "k/0", Group: "g"}, {Key: "k/1", Group: "g", After: []string{"k/0"}}},
		},
		{
			"a job group", "name: pair\nexecution: parallel\nprimary_tasks: [a]\ntermination_delay: 30s\n---\nname: a\nrun: x\n---\nname: b\nrun: y\n",
			[]task.Submit{{Key: "k/0", Group: "g", JobGroup: &task.JobGroup{Name: "pair", Tasks: 2, Primary: true}}, {Key: "k/1", Group: "g", JobGroup: &task.JobGroup{Name: "pair", Index: 1, Tasks: 2, Delay: 30}}},
		},
	} {
		b := s.send("POST", batchPath+"?group=g", tt.file, "Content-Type", yamlType, keyHeader, "k").batch(t)
		var got []task.Submit
		for _, c := range s.take() {
			one := task.Submit{Key: c.Submit.Key, Group: c.Submit.Group, After: c.Submit.After}
			if j := c.Submit.JobGroup; j != nil {
				one.JobGroup = &task.JobGroup{Name: j.Name, Index: j.Index, Tasks: j.Tasks, Primary: j.Primary, Delay: j.Delay}
			}
			got = append(got, one)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" || b.Submitted != len(tt.want) {
			t.Errorf("%s: %+v; submissions (-want +got):\n%s", tt.name, b, diff)
		}
		if last := b.Results[len(b.Results)-1]; tt.name == "a pipeline" && !strings.Contains(strings.Join(last.Warnings, ""), "disk_size") {
			t.Errorf("%s: no warning of the parser in %+v", tt.name, last)
		}
	}
}

func TestATaskFileWithAnErrorStoresNothing(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, tt := range []struct {
		name, file string
		code       int
		want       string
	}{
		{"a wrong task", "run: x\n---\nrun: y\ncpus: 1\n", 422, "task 2: line 4, cpus: unknown field"},
		{"a wrong header", "execution: parallel\n---\nname: a\nrun: x\n---\nname: b\nrun: y\n", 422, "name: a job group needs a name"},
		{"too large", strings.Repeat("# a comment\n", taskfile.MaxSize/12+1) + "run: x\n", 413, "the task file is larger than"},
	} {
		got := s.send("POST", batchPath, tt.file, "Content-Type", yamlType)
		if told := s.take(); got.StatusCode != tt.code || !strings.Contains(got.body, tt.want) || len(told) > 0 {
			t.Errorf("%s: %d %.300s, %d commands; want %d and %s", tt.name, got.StatusCode, got.body, len(told), tt.code, tt.want)
		}
	}
}

func TestThePreviewOfATaskFileIsOfAllItsTasks(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, func(c *Config) {
		c.Preview = func(s task.Submit) ([]json.RawMessage, []string, error) {
			return []json.RawMessage{[]byte(`{"kind":"` + s.Task.Name + `"}`)}, nil, nil
		}
	})
	for _, tt := range []struct {
		name, file string
		code       int
		want       []string
	}{
		{"a pipeline", "name: a\nrun: x\n---\nname: b\nrun: y\n", 200, []string{`"objects":[{"kind":"a"},{"kind":"b"}],"tasks":2`, `{"task":2,"field":"run","line":5,"verdict":"honoured"`}},
		{"errors of two tasks", "name: a\nrunn: x\n---\nname: b\nrun: y\nnum_nodes: 9\n", 422, []string{`"detail":"task 1: line 2, runn: `, `{"task":1,"field":"runn","line":2,"verdict":"error"`, `{"task":2,"field":"num_nodes","verdict":"error"`}},
	} {
		got := s.send("POST", previewPath, tt.file, "Content-Type", yamlType)
		for _, want := range tt.want {
			if got.StatusCode != tt.code || !strings.Contains(got.body, want) {
				t.Errorf("%s: %d %s, want %d with %s", tt.name, got.StatusCode, got.body, tt.code, want)
			}
		}
	}
}
