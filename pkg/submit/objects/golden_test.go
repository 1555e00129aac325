package objects

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
)

var update = flag.Bool("update", false, "write the golden files anew")

// noon is the time at which every submission of these tests was stored.
var noon = time.Date(2025, 10, 5, 12, 34, 56, 789012345, time.UTC)

// A given is the description of a submitted task in a file of testdata.
type given struct {
	task.Submit
	Claims map[string]string `json:"claims"`
}

func (g given) record() *task.Record {
	return &task.Record{Submit: g.Submit, Hash: g.Hash(), CreatedAt: noon, Claims: g.Claims}
}

// The golden files contain the Kubernetes objects that users get.
func TestJobs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tasks: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.yaml") {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			var g given
			read(t, file, &g)
			if err := g.Task.Validate(); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			jobs := Jobs(g.record(), "default")
			for _, job := range jobs {
				c := job.Spec.Template.Spec.Containers[0]
				short(t, c.Command, entrypoint(c.Args[1:], len(g.Task.Outputs) > 0, groupParts(g.record())...), "(entrypoint)")
				for _, c := range job.Spec.Template.Spec.InitContainers {
					short(t, c.Command, fetchFiles, "(fetcher)")
				}
			}
			got := documents(t, jobs)
			if len(jobs) > 1 {
				got += "---\n" + documents(t, []any{Service(g.record(), "default", "uid-of-the-first-job")})
			}
			if g.Sealed != nil {
				values := map[string]string{"BOTH": "hidden", "HF_TOKEN": "hf_$(x)"}
				got += "---\n" + documents(t, []any{Secret(g.record(), values, nil, "default", "uid-of-the-first-job")})
			}
			if g.Files != "" {
				tokens := map[string]string{}
				for rank := range g.Task.Nodes() {
					if len(g.Task.Outputs) > 0 {
						tokens[OutputKey(rank)] = "token"
					}
				}
				if len(g.Task.Uploads) > 0 {
					tokens[FilesKey] = "token"
				}
				got += "---\n" + documents(t, []any{Secret(g.record(), nil, tokens, "default", "uid-of-the-first-job")})
			}
			compare(t, strings.TrimSuffix(file, ".yaml")+".golden.yaml", got)
		})
	}
}

// short replaces a script that is the same in all Jobs with a name.
func short(t *testing.T, command []string, script, name string) {
	t.Helper()
	want := []string{"/bin/sh", "-c", start, script}
	if !cmp.Equal(want, expanded(command)) {
		t.Errorf("command %q", command)
	}
	command[2], command[3] = "(start)", name
}

// expanded returns a command as the container receives it.
func expanded(command []string) []string {
	seen := slices.Clone(command)
	for i := range seen {
		if strings.Contains(strings.ReplaceAll(seen[i], "$$", ""), "$") {
			return nil // Kubernetes may expand the rest
		}
		seen[i] = strings.ReplaceAll(seen[i], "$$", "$")
	}
	return seen
}

func TestClaims(t *testing.T) {
	for name, v := range map[string]task.Volume{
		"claim-defaults": {Name: "data", Size: "10Gi"},
		"claim":          {Name: "data", Size: "1.5Ti", StorageClass: new("fast"), AccessModes: []string{"ReadWriteMany", "ReadOnlyMany"}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := v.Validate(); err != nil {
				t.Fatal(err)
			}
			c := task.Create{ID: "1a2b3c4d", User: "ann@example.com", Volume: v}
			got := Claim(&task.VolumeRecord{Create: c, Hash: c.Hash(), CreatedAt: noon}, "default")
			compare(t, "testdata/"+name+".golden.yaml", documents(t, []any{got}))
		})
	}
}

func TestTheSameRecordGivesTheSameJobs(t *testing.T) {
	var g given
	read(t, "testdata/volumes.yaml", &g)
	want := Jobs(g.record(), "default")
	for range 20 {
		if diff := cmp.Diff(want, Jobs(g.record(), "default")); diff != "" {
			t.Fatalf("jobs (-first +again):\n%s", diff)
		}
	}
}

// read decodes a file by the JSON names of the fields.
func read(t *testing.T, file string, into any) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := decodeYAML(raw, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func decodeYAML(raw []byte, into any) error {
	var generic any
	if err := yaml.Unmarshal(raw, &generic); err != nil {
		return err
	}
	raw, err := json.Marshal(generic)
	if err != nil {
		return err
	}
	decoder := json.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

// documents returns objects as a sequence of YAML documents.
func documents[T any](t *testing.T, objects []T) string {
	t.Helper()
	var all strings.Builder
	encoder := yaml.NewEncoder(&all)
	encoder.SetIndent(2)
	for _, o := range objects {
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var generic map[string]any
		if err := json.Unmarshal(raw, &generic); err != nil {
			t.Fatal(err)
		}
		delete(generic, "status")
		if err := encoder.Encode(generic); err != nil {
			t.Fatal(err)
		}
	}
	return all.String()
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it anew:\n%s", file, diff)
	}
}
