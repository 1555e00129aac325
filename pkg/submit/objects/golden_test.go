package objects

import (
	"encoding/json"
	"flag"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
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

// The golden files contain the Kubernetes objects that users get: defaults.golden.yaml has the whole
// Job of the smallest task. The other files have what differs from this Job, and for each further
// node what differs from the node before.
func TestJobs(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tasks: %v", err)
	}
	var smallest given
	read(t, "testdata/defaults.yaml", &smallest)
	standard := jobs(t, smallest)[0]
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.yaml") {
			continue
		}
		name := strings.TrimSuffix(file, ".yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			var g given
			read(t, file, &g)
			if err := g.Task.Validate(); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all := jobs(t, g)
			if file == "testdata/defaults.yaml" {
				compare(t, name+".golden.yaml", all[0])
				return
			}
			var parts []string
			before := standard
			for _, job := range all {
				parts = append(parts, changes(before, job))
				before = job
			}
			if len(all) > 1 {
				parts = append(parts, document(t, Service(g.record(), "default", "uid-of-the-first-job")))
			}
			if g.Sealed != nil {
				values := map[string]string{"BOTH": "hidden", "HF_TOKEN": "hf_$(x)"}
				parts = append(parts, document(t, Secret(g.record(), values, nil, "default", "uid-of-the-first-job")))
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
				parts = append(parts, document(t, Secret(g.record(), nil, tokens, "default", "uid-of-the-first-job")))
			}
			compare(t, name+".golden.diff", strings.Join(parts, "---\n"))
		})
	}
}

// jobs returns the Jobs of a task as YAML documents, without the scripts that are the same in all Jobs.
func jobs(t *testing.T, g given) []string {
	t.Helper()
	var all []string
	for _, job := range Jobs(g.record(), "default") {
		c := job.Spec.Template.Spec.Containers[0]
		short(t, c.Command, entrypoint(g.record(), c.Args[1:]), "(entrypoint)")
		for _, c := range job.Spec.Template.Spec.InitContainers {
			if c.Name == filesContainer {
				short(t, c.Command, fetchFiles, "(fetcher)")
			}
		}
		all = append(all, document(t, job))
	}
	return all
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
			must.Succeed(t, v.Validate())
			c := task.Create{ID: "1a2b3c4d", User: "ann@example.com", Volume: v}
			got := Claim(&task.VolumeRecord{Create: c, Hash: c.Hash(), CreatedAt: noon}, "default")
			compare(t, "testdata/"+name+".golden.yaml", document(t, got))
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
	raw := must.Read(t, file)
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

// document returns an object as a YAML document.
func document(t *testing.T, object any) string {
	t.Helper()
	raw := must.Encode(t, object)
	var generic map[string]any
	must.Succeed(t, json.Unmarshal(raw, &generic))
	delete(generic, "status")
	var text strings.Builder
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	must.Succeed(t, encoder.Encode(generic))
	return text.String()
}

// changes returns the lines that differ in two YAML documents, and the lines that show their
// place: the keys above a line, and for an item of a list also the item before.
func changes(before, after string) string {
	type place struct {
		text  string
		shown bool
	}
	var (
		found strings.Builder
		above []place
	)
	for _, line := range merged(before, after) {
		text, changed := line[2:], line[0] != ' '
		depth := indent(text)
		for i, p := range above {
			isPlace := indent(p.text) < depth || strings.HasPrefix(text[depth:], "- ") && indent(p.text) == depth
			if changed && !p.shown && isPlace {
				found.WriteString("  " + p.text + "\n")
				above[i].shown = true
			}
		}
		if changed {
			found.WriteString(line + "\n")
		}
		above = slices.DeleteFunc(above, func(p place) bool { return indent(p.text) >= depth })
		above = append(above, place{text, changed})
	}
	return found.String()
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// merged returns the lines of two texts in order. A line of only the first text has the prefix "-",
// and a line of only the second text "+".
func merged(before, after string) []string {
	first, second := strings.Split(strings.TrimSpace(before), "\n"), strings.Split(strings.TrimSpace(after), "\n")
	common := make([][]int, len(first)+1) // how many lines first[i:] and second[j:] have in common
	for i := range common {
		common[i] = make([]int, len(second)+1)
	}
	for i, line := range slices.Backward(first) {
		for j, other := range slices.Backward(second) {
			if line == other {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	var all []string
	for i, j := 0, 0; i < len(first) || j < len(second); {
		switch {
		case i < len(first) && j < len(second) && first[i] == second[j]:
			all = append(all, "  "+first[i])
			i, j = i+1, j+1
		case j == len(second) || i < len(first) && common[i+1][j] >= common[i][j+1]:
			all = append(all, "- "+first[i])
			i++
		default:
			all = append(all, "+ "+second[j])
			j++
		}
	}
	return all
}

func compare(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must.Write(t, file, got)
	}
	want := must.Read(t, file)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got); go test -update writes it anew:\n%s", file, diff)
	}
}
