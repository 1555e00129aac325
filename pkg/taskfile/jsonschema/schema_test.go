package jsonschema

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/taskfile"
	"k8s-cli/test/testkit/must"
)

func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	raw := must.Encode(t, Task("http://localhost/schema/task.json"))
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	must.Succeed(t, err)
	compiler := jsonschema.NewCompiler()
	must.Succeed(t, compiler.AddResource("task.json", document))
	schema, err := compiler.Compile("task.json")
	must.Succeed(t, err)
	return schema
}

// value returns a task file as JSON data.
func value(text []byte) (any, error) {
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(raw))
}

// scalarsAsText lists files whose scalars for text the schema does not accept.
var scalarsAsText = map[string]bool{}

// TestSchemaAcceptsWhatTheParserAccepts checks all task files of the repository.
func TestSchemaAcceptsWhatTheParserAccepts(t *testing.T) {
	schema := compiled(t)
	checked := 0
	for _, pattern := range []string{"../testdata/*.yaml", "../testdata/*/*.yaml", "../../../examples/*.yaml", "../../../examples/*/*.yaml"} {
		files, err := filepath.Glob(pattern)
		must.Succeed(t, err)
		for _, file := range files {
			text := must.Read(t, file)
			v, err := value(text)
			if _, _, parseErr := taskfile.Parse(text); parseErr != nil || err != nil || scalarsAsText[filepath.Base(file)] {
				continue
			}
			checked++
			if err := schema.Validate(v); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
	if checked < 40 {
		t.Errorf("only %d files were checked", checked)
	}
}

// TestSchemaRejectsWhatTheParserRejects checks that the schema finds the mistakes that a
// user makes.
func TestSchemaRejectsWhatTheParserRejects(t *testing.T) {
	schema := compiled(t)
	for _, text := range []string{
		"rnu: echo", "name: x", "run: x\nnaem: y", "run: x\nnum_nodes: 0", "run: x\nnum_nodes: [1]",
		"run: x\nresources: {cpu: 1}", "run: x\nresources: {cpus: [1]}", "run: x\nresources: [a]", "run: x\nenvs: [a]", "run: x\nenvs: {A: {}}",
		"run: x\nvolumes: {/d: {naem: x}}", "run: x\nresources: {any_of: [{cpu: 1}]}", "run: x\nconfig: {kubernetes: {pod: {}}}",
		"run: x\nconfig: {kubernetes: {pod_config: {spec: {hostNetwork: true}}}}", "run: x\nresources: {priority: 2000}",
		"run: x\nresources: {job_recovery: {restarts: 1}}", "run: x\nvolume_mounts: [data]", "run: [x]",
	} {
		if _, _, err := taskfile.Parse([]byte(text)); err == nil {
			t.Errorf("the parser accepts %q", text)
		}
		if v, err := value([]byte(text)); err != nil || schema.Validate(v) == nil {
			t.Errorf("the schema accepts %q (%v)", text, err)
		}
	}
}

// TestEveryFieldHasAType checks that a field of the tables is not forgotten here.
func TestEveryFieldHasAType(t *testing.T) {
	forms := formsOf("#/$defs/")
	anything := regexp.MustCompile(`(^|\.)_|^(file_mounts_mapping|service|pool)$|\.quota$`)
	for _, f := range taskfile.Fields() {
		_, section := sections[f.Path]
		if f.Severity != taskfile.Refused && !section && forms[f.Path] == nil && !anything.MatchString(f.Path) {
			t.Errorf("%s has no type", f.Path)
		}
	}
	if text := Components()["TaskResources"].(Schema)["properties"].(Schema)["disk_size"].(Schema)["deprecationMessage"]; !strings.Contains(text.(string), "not used") {
		t.Errorf("disk_size: %v", text)
	}
}
