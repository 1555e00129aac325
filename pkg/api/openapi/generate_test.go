package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	goflag "flag"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/taskfile/jsonschema"
	"k8s-cli/test/testkit/must"
)

var update = goflag.Bool("update", false, "write openapi.json")

// TestDescriptionIsUpToDate checks that openapi.json is generated from openapi.yaml, the
// tables of fields and the reasons of errors.
func TestDescriptionIsUpToDate(t *testing.T) {
	t.Parallel()
	source := must.Read(t, "openapi.yaml")
	var document map[string]any
	must.Succeed(t, yaml.Unmarshal(source, &document))
	delete(document, "x-errors") // its parts are inlined where they are used
	components := document["components"].(map[string]any)["schemas"].(map[string]any)
	addTask(t, components)
	var reasons []any
	for _, d := range problem.Reasons() {
		reasons = append(reasons, string(d.Reason))
	}
	components["ErrorReason"].(map[string]any)["x-extensible-enum"] = reasons
	components["AccessMode"].(map[string]any)["enum"] = task.AccessModes
	addExamples(document, components)
	want := encode(document)
	if *update {
		must.Succeed(t, os.WriteFile("openapi.json", want, 0o600))
		return
	}
	if !bytes.Equal(want, description) {
		t.Error("openapi.json is not up to date; go test ./pkg/api/openapi -run UpToDate -update writes it")
	}
}

// addTask adds the schemas of a task, and of a task in a batch.
func addTask(t *testing.T, components map[string]any) {
	t.Helper()
	raw := must.Encode(t, jsonschema.Components())
	var schemas map[string]any
	must.Succeed(t, json.Unmarshal(raw, &schemas))
	renameMessages(schemas)
	for name, schema := range schemas {
		if components[name] != nil {
			t.Errorf("openapi.yaml has a schema %s of its own", name)
		}
		components[name] = schema
	}
	item := maps.Clone(schemas["Task"].(map[string]any))
	delete(item, "examples")
	properties := maps.Clone(item["properties"].(map[string]any))
	properties[taskfile.ItemKey] = map[string]any{
		"type": []any{"string", "null"}, "maxLength": 255,
		"description": "Same as the Idempotency-Key header of a single submission.",
	}
	properties[group.Param] = map[string]any{
		"type": []any{"string", "null"}, "maxLength": 63,
		"description": "Same as the query parameter group of a single submission.",
	}
	properties[group.MaxParallelParam] = map[string]any{
		"type": []any{"integer", "null"}, "minimum": 1,
		"description": "Same as the query parameter max_parallel of a single submission.",
	}
	properties[group.FailFastParam] = map[string]any{
		"type":        []any{"boolean", "null"},
		"description": "Same as the query parameter fail_fast of a single submission.",
	}
	properties[group.JobGroupParam] = map[string]any{
		"type": []any{"string", "null"}, "maxLength": 63,
		"description": "Name of the job group that the tasks of the batch form. Needs atomic.",
	}
	properties[group.AuxiliaryParam] = map[string]any{
		"type":        []any{"boolean", "null"},
		"description": "The job group does not wait for the task, and ends it after the primary tasks.",
	}
	properties[group.DelayParam] = map[string]any{
		"type":        []any{"string", "null"},
		"description": "How long an auxiliary task goes on after the primary tasks, for example 30s.",
	}
	properties[taskfile.ItemAfter] = predecessors("Ids or idempotency keys of tasks of the user, or of this batch, that must complete before the task gets Jobs.")
	properties[taskfile.ItemAfterAny] = predecessors("Ids or idempotency keys of tasks of the user, or of this batch, that must end, with any status, before the task gets Jobs.")
	item["properties"], item["description"] = properties, "A task of a batch."
	components["Item"] = item
}

func predecessors(description string) map[string]any {
	return map[string]any{
		"description": description,
		"anyOf":       []any{map[string]any{"$ref": "#/components/schemas/Predecessors"}, map[string]any{"type": "null"}},
	}
}

// renameMessages renames the messages for editors to what generators of clients read.
func renameMessages(node any) {
	switch n := node.(type) {
	case map[string]any:
		if text, ok := n["deprecationMessage"]; ok {
			n["x-deprecated-reason"] = text
			delete(n, "deprecationMessage")
		}
		for _, child := range n {
			renameMessages(child)
		}
	case []any:
		for _, child := range n {
			renameMessages(child)
		}
	}
}

// addExamples copies the first example of a schema to the bodies with this schema, where
// tools look for examples.
func addExamples(node any, components map[string]any) {
	switch n := node.(type) {
	case map[string]any:
		if content, ok := n["content"].(map[string]any); ok {
			for _, body := range content {
				addExample(body.(map[string]any), components)
			}
		}
		for _, child := range n {
			addExamples(child, components)
		}
	case []any:
		for _, child := range n {
			addExamples(child, components)
		}
	}
}

func addExample(body, components map[string]any) {
	ref, _ := body["schema"].(map[string]any)["$ref"].(string)
	schema, ok := components[strings.TrimPrefix(ref, "#/components/schemas/")].(map[string]any)
	if examples, _ := schema["examples"].([]any); ok && body["example"] == nil && len(examples) > 0 {
		body["example"] = examples[0]
	}
	if example, ok := body["example"]; ok { // viewers show named examples without changes
		body["examples"] = map[string]any{"example": map[string]any{"value": example}}
		delete(body, "example")
	}
}

// TestDescriptionIsComplete checks what readers and generators need: an id, a tag, a summary
// and a description of every operation, and an example of every body.
func TestDescriptionIsComplete(t *testing.T) {
	t.Parallel()
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Responses map[string]operation }
		Tags       []struct{ Name string }
	}
	must.Succeed(t, json.Unmarshal(description, &document))
	var tags []string
	for _, tag := range document.Tags {
		tags = append(tags, tag.Name)
	}
	ids := map[string]bool{}
	for path, item := range document.Paths {
		for method, raw := range item {
			if method == "parameters" {
				continue
			}
			var o operation
			must.Succeed(t, json.Unmarshal(raw, &o))
			if o.OperationID == "" || ids[o.OperationID] || o.Summary == "" || o.Description == "" || len(o.Tags) != 1 || !slices.Contains(tags, o.Tags[0]) {
				t.Errorf("%s %s lacks an id, a summary, a description or a tag: %+v", method, path, o)
			}
			ids[o.OperationID] = true
			o.checkExamples(t, method+" "+path)
		}
	}
	for name, response := range document.Components.Responses {
		response.checkExamples(t, name)
	}
}

// An operation is an operation, a body of a request or a response.
type operation struct {
	OperationID, Summary, Description string
	Tags                              []string
	Content                           map[string]map[string]json.RawMessage
	RequestBody                       *operation
	Responses                         map[string]operation
}

func (o operation) checkExamples(t *testing.T, where string) {
	t.Helper()
	for kind, body := range o.Content {
		if len(body["examples"]) == 0 && !strings.HasSuffix(kind, "gzip") {
			t.Errorf("%s: the body of %s has no example", where, kind)
		}
	}
	if o.RequestBody != nil {
		o.RequestBody.checkExamples(t, where)
	}
	for code, response := range o.Responses {
		response.checkExamples(t, where+" "+code)
	}
}

// TestViewerIsPinned checks the hashes of the vendored files.
func TestViewerIsPinned(t *testing.T) {
	t.Parallel()
	sums := must.Read(t, "viewer/SHA256SUMS")
	pinned := strings.Fields(string(sums))
	if len(pinned) != 4 {
		t.Fatalf("%d fields", len(pinned))
	}
	for i := 0; i < len(pinned); i += 2 {
		content := must.Read(t, "viewer/"+pinned[i+1])
		if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != pinned[i] {
			t.Errorf("viewer/%s is not the pinned file", pinned[i+1])
		}
	}
}

func TestDocumentsOfAServer(t *testing.T) {
	t.Parallel()
	d := New("v1.2.3", task.Login{By: "oidc", Issuer: "https://login.example.com/"})
	var document struct {
		Info       struct{ Version string }
		Components struct {
			SecuritySchemes map[string]struct{ OpenIDConnectURL string }
		}
		Security []map[string]any
	}
	must.Succeed(t, json.Unmarshal(d.texts().description, &document))
	if got := document.Components.SecuritySchemes["oidc"].OpenIDConnectURL; document.Info.Version != "v1.2.3" || got != "https://login.example.com/.well-known/openid-configuration" || len(document.Security) != 3 {
		t.Errorf("%+v", document)
	}
	if d = New("(devel)", task.Login{By: "header"}); bytes.Contains(d.texts().description, []byte("openIdConnect")) || !bytes.Contains(d.texts().description, []byte(`"version": "devel"`)) {
		t.Errorf("%.300s", d.texts().description)
	}
}
