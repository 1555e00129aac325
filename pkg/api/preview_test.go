package api

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
)

func TestADryRunSubmitsNothing(t *testing.T) {
	t.Parallel()
	var asked []task.Submit
	s := serveWith(t, &fake{}, func(c *Config) {
		c.Sealer = sealer
		c.Preview = func(s task.Submit) ([]json.RawMessage, []string, error) {
			if asked = append(asked, s); s.Task.Name == "broken" {
				return nil, nil, errors.New("no objects")
			}
			return []json.RawMessage{[]byte(`{"kind":"Job"}`)}, []string{"it waits"}, nil
		}
	})
	const path = previewPath
	const want = `{"status":"acceptable","message":"Task is valid; nothing was submitted","warnings":["resources.disk_size: not used; put large data on a volume","it waits"],"objects":[{"kind":"Job"}]}`
	if a := s.send("POST", path, `{"run":"true","secrets":{"TOKEN":"x"},"resources":{"disk_size":10}}`); a.StatusCode != 200 || a.body != want {
		t.Errorf("%d %s, want %s", a.StatusCode, a.body, want)
	}
	if len(asked) != 1 || asked[0].User != "ann" || len(asked[0].ID) != 8 || asked[0].Image != "python:3.13-slim" || asked[0].Task.Secrets["TOKEN"] != task.Redacted {
		t.Errorf("the preview is of %+v", asked)
	}
	s.send("POST", path, `{"run":"true","num_nodes":9}`).wantError(t, 422, "num_nodes")
	s.send("POST", path, `{"walk":"true"}`).wantError(t, 422, "walk")
	s.send("POST", path, `{"run":"true"}`, userHeader, "-").wantError(t, 401, userHeader)
	if a := s.send("POST", path, `{"run":"true","name":"broken"}`); a.StatusCode != 500 {
		t.Errorf("a preview that fails: %d %s", a.StatusCode, a.body)
	}
	if len(s.told()) > 0 || strings.Contains(s.logged.String(), "logger=audit") {
		t.Errorf("commands %v; logged %s", s.told(), s.logged)
	}
}

func TestAPreviewOfATaskFileHasAFindingForEachField(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, func(c *Config) {
		c.Preview = noObjects
	})
	for _, tt := range []struct {
		file string
		code int
		want string
	}{
		{"run: x\nresources:\n  disk_size: 10\n", 200, `{"field":"resources.disk_size","line":3,"verdict":"warning"`},
		{"run: x\nresources:\n  cpus: many\nwalk: y\n", 422, `{"field":"walk","line":4,"verdict":"error"`},
	} {
		a := s.send("POST", previewPath, tt.file, "Content-Type", "application/yaml")
		if a.StatusCode != tt.code || !strings.Contains(a.body, tt.want) || !strings.Contains(a.body, `"field":"run"`) {
			t.Errorf("%q: %d %s, want %d with %s", tt.file, a.StatusCode, a.body, tt.code, tt.want)
		}
	}
	if a := s.send("POST", previewPath, `{"run":"x"}`); strings.Contains(a.body, "findings") {
		t.Errorf("a preview of JSON: %s", a.body)
	}
}
