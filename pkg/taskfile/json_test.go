package taskfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func TestParseJSON(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       task.Spec
		warnings   []string
	}{
		{"scalars of every kind are texts", `{"run":"x","name":7,"envs":{"A":1,"B":1e3,"C":true,"D":2.50,"E":""},"resources":{"cpus":4,"memory":0.5}}`, task.Spec{
			Run: "x", Name: "7", Envs: map[string]string{"A": "1", "B": "1e3", "C": "true", "D": "2.50", "E": ""},
			Resources: task.Resources{CPUs: "4", Memory: "0.5"},
		}, nil},
		{"a number of nodes as text", `{"run":"x","num_nodes":"2"}`, task.Spec{Run: "x", NumNodes: 2}, nil},
		{"a number of nodes with a point", `{"run":"x","num_nodes":2.0}`, task.Spec{Run: "x", NumNodes: 2}, nil},
		{"null means absent", `{"run":"x","name":null,"resources":null,"file_mounts":null,"setup":null}`, task.Spec{Run: "x"}, nil},
		{"what looks like YAML stays text", `{"run":"*a","setup":"~","envs":{"A":"<<"}}`, task.Spec{Run: "*a", Setup: "~", Envs: map[string]string{"A": "<<"}}, nil},
		{"escapes", `{"run":"\u0024\n\ud83d\ude00\ufffd"}`, task.Spec{Run: "$\n😀\uFFFD"}, nil},
		{"a byte-order mark and blanks", "\uFEFF \n{\"run\":\"x\"}\n ", task.Spec{Run: "x"}, nil},
		{
			"a range of ports", `{"run":"x","resources":{"ports":[80,"90-99"]}}`,
			task.Spec{Run: "x", Resources: task.Resources{Ports: []string{"80", "90-99"}}},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, warnings, err := ParseJSON([]byte(tt.text))
			must.Succeed(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("task (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.warnings, warnings); diff != "" {
				t.Errorf("warnings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseJSONRefuses(t *testing.T) {
	invalid, broken := problem.Invalid, problem.Malformed
	for _, tt := range []struct {
		name, text string
		kind       error
		want       string
	}{
		{"nothing", "", broken, "the body is empty"},
		{"blanks", " \n", broken, "the body is empty"},
		{"not UTF-8", "{\"run\":\"\xff\"}", broken, "line 1: the text is not valid UTF-8; store the file as UTF-8, if it is a task file"},
		{"half a character", `{"run":"\ud83d"}`, broken, `the body is not valid JSON: invalid surrogate pair`},
		{"a list", `[1]`, invalid, "a task must be a mapping of fields, not a list"},
		{"null", `null`, invalid, "a task must be a mapping of fields, not null"},
		{"a text", `"x"`, invalid, "a task must be a mapping of fields, not a single value"},
		{"YAML", `run: x`, broken, "the body is not valid JSON: invalid character 'r' at start of value"},
		{"half a body", `{"run":"x"`, broken, "the body is not valid JSON: unexpected end of input"},
		{"a bracket alone", `{`, broken, "the body is not valid JSON: unexpected end of input"},
		{"half a text", `{"run":"x`, broken, "the body is not valid JSON: unexpected end of input"},
		{"a comma too much", `{"run":"x",}`, broken, "the body is not valid JSON: invalid character ',' at start of value"},
		{"a comma too few", `{"run":"x" "name":"y"}`, broken, "the body is not valid JSON: invalid character '\"' after object value (expecting ',' or '}')"},
		{"the wrong bracket", `{"run":"x"]`, broken, "the body is not valid JSON: invalid character ']' after object value"},
		{"a key that is a number", `{1:"x"}`, broken, "the body is not valid JSON: object member name must be a string"},
		{"a leading zero", `{"run":"x","num_nodes":01}`, broken, "the body is not valid JSON: invalid character '1' after object value"},
		{"a second value", `{"run":"x"}{"run":"y"}`, broken, "the body is not valid JSON: unexpected data after the first value"},
		{"something behind", `{"run":"x"}x`, broken, "the body is not valid JSON: unexpected data after the first value"},
		{"a key that stands there twice", `{"run":"x","run":"y"}`, invalid, "run: duplicate key"},
		{"the same key escaped", `{"run":"x","envs":{"A":"1","\u0041":"2"}}`, invalid, "envs.A: duplicate key"},
		{"an unknown field", `{"run":"x","resources":{"cpu":1}}`, invalid, "resources.cpu: unknown field, did you mean cpus?"},
		{"a variable without a value", `{"run":"x","envs":{"A":null}}`, invalid, `envs.A: has no value; write A: "" for an empty value, or pass --env A=VALUE`},
		{"a text for a mapping", `{"run":"x","resources":"4"}`, invalid, "resources: must be a mapping of fields, not a single value"},
		{"no command", `{}`, invalid, "run: a task needs a command to run"},
		{"a secret", `{"run":"x","secrets":{"A":null}}`, invalid, "secrets.A: has no value; pass --secret A=VALUE, or --secret A to take the value from your environment"},
		{"a NUL", `{"run":"x\u0000"}`, invalid, "run: contains a NUL character"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := ParseJSON([]byte(tt.text))
			if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("error\n got %v\nwant %s", err, tt.want)
				return
			}
			checkError(t, err, tt.kind, err.Error())
		})
	}
}

func TestParseVolume(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       task.Volume
	}{
		{
			"the specified fields", `{"name":"data","size":"10Gi","storage_class":"fast","access_modes":["ReadWriteMany","ReadOnlyMany"]}`,
			task.Volume{Name: "data", Size: "10Gi", StorageClass: new("fast"), AccessModes: []string{"ReadWriteMany", "ReadOnlyMany"}},
		},
		{"null means the default", `{"name":"data","size":"10Gi","storage_class":null,"access_modes":null}`, task.Volume{Name: "data", Size: "10Gi"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseVolume([]byte(tt.text))
			must.Succeed(t, err)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("volume (-want +got):\n%s", diff)
			}
		})
	}
}

func TestParseVolumeRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a list", `[]`, "a volume must be a mapping of fields, not a list"},
		{"no name", `{"size":"1Gi"}`, "name: a volume needs a name"},
		{"no size", `{"name":"a"}`, "size: a volume needs a size, for example 10Gi"},
		{"a size without a unit", `{"name":"a","size":10}`, `size: "10" is not a positive size with a unit, for example 10Gi or 1Ti`},
		{"one access mode", `{"name":"a","size":"1Gi","access_modes":"ReadWriteOnce"}`, "access_modes: must be a list, not a single value"},
		{"an access mode that is none", `{"name":"a","size":"1Gi","access_modes":[null]}`, "access_modes[0]: must be a string, not null"},
		{"an unknown access mode", `{"name":"a","size":"1Gi","access_modes":["RWX"]}`, `access_modes: "RWX" is not one of ReadWriteOnce, ReadWriteMany, ReadOnlyMany, ReadWriteOncePod`},
		{"an unknown field", `{"name":"a","size":"1Gi","storageclass":"b"}`, "storageclass: unknown field, did you mean storage_class?"},
		{"a field of SkyPilot", `{"name":"a","size":"1Gi","config":{"access_mode":"ReadWriteMany"}}`, "config: not supported; write storage_class and access_modes"},
		{"a kind of volume", `{"name":"a","size":"1Gi","type":"k8s-pvc"}`, "type: not supported; every volume is a PersistentVolumeClaim"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseVolume([]byte(tt.text))
			checkError(t, err, problem.Invalid, tt.want)
		})
	}
}
