package taskfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func TestOverridesReplaceWhatTheFileSays(t *testing.T) {
	file := "name: not a name\nnum_nodes: 2\nenvs: {TOKEN: null, KEPT: file, BOTH: file}\nrun: x\n"
	got, _, err := ParseWith([]byte(file), Overrides{
		Name: "better", NumNodes: 3, Envs: map[string]string{"TOKEN": "given", "BOTH": "given"},
	})
	must.Succeed(t, err)
	want := task.Spec{Name: "better", NumNodes: 3, Run: "x", Envs: map[string]string{"TOKEN": "given", "KEPT": "file", "BOTH": "given"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("task (-want +got):\n%s", diff)
	}
}

func TestOverridesAreChecked(t *testing.T) {
	_, _, err := ParseWith([]byte("run: x"), Overrides{Envs: map[string]string{"1st": "x"}})
	if err == nil {
		t.Error("an impossible name of a variable was taken")
	}
}

// TestOverridesOfSecrets checks that secrets are overridden like variables, take precedence
// over variables, and never appear in errors.
func TestOverridesOfSecrets(t *testing.T) {
	file := []byte("run: x\nenvs: {BOTH: plain}\nsecrets: {TOKEN: null, BOTH: hidden, FILE: 7}\n")
	got, warnings, err := ParseWith(file, Overrides{Secrets: map[string]string{"TOKEN": "given", "MORE": "given"}})
	want := map[string]string{"TOKEN": "given", "BOTH": "hidden", "FILE": "7", "MORE": "given"}
	if diff := cmp.Diff(want, got.Secrets); diff != "" || err != nil {
		t.Errorf("%v, secrets (-want +got):\n%s", err, diff)
	}
	if len(warnings) != 1 || warnings[0] != "envs.BOTH: also set under secrets; this value is not used" {
		t.Errorf("warnings %q", warnings)
	}
	_, _, err = ParseWith([]byte("run: x\n"), Overrides{Secrets: map[string]string{"A": "hid\x00den"}})
	if err == nil || strings.Contains(err.Error(), "hid") || !strings.HasPrefix(err.Error(), "secrets.A: contains a NUL") {
		t.Errorf("%v", err)
	}
}

// TestOverridesOfResources checks that overrides replace the resources of every alternative.
func TestOverridesOfResources(t *testing.T) {
	all := Overrides{CPUs: "8", Memory: "32", Accelerators: "H100:2", ImageID: "docker:other:1"}
	want := task.Resources{CPUs: "8", Memory: "32", Accelerators: "H100:2", ImageID: "docker:other:1"}
	for _, tt := range []struct {
		name, resources string
		o               Overrides
		want            task.Resources
	}{
		{"no resources in the file", "", all, want},
		{"other values in the file", "{cpus: 2+, memory: 4Gi, accelerators: T4, image_id: own}", all, want},
		{"one value", "{cpus: 2, memory: 4}", Overrides{Memory: "16"}, task.Resources{CPUs: "2", Memory: "16"}},
		{"none", "{cpus: 2, memory: 4, accelerators: T4, image_id: own}", Overrides{CPUs: "None", Memory: "none", Accelerators: "none", ImageID: "none"}, task.Resources{}},
		{"alternatives", "{memory: 4, any_of: [{cpus: 1}, {cpus: 2}]}", Overrides{Memory: "8"}, task.Resources{AnyOf: []task.Resources{{CPUs: "1", Memory: "8"}, {CPUs: "2", Memory: "8"}}}},
		{"ordered alternatives", "{ordered: [{cpus: 1}, {cpus: 2}]}", Overrides{Memory: "8"}, task.Resources{Ordered: []task.Resources{{CPUs: "1", Memory: "8"}, {CPUs: "2", Memory: "8"}}}},
		{"alternatives that become equal", "{accelerators: {T4: 1, L4: 1}, cpus: 1}", Overrides{Accelerators: "H100"}, task.Resources{CPUs: "1", Accelerators: "H100"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := ParseWith([]byte("run: x\nresources: "+tt.resources+"\n"), tt.o)
			if diff := cmp.Diff(tt.want, got.Resources); diff != "" || err != nil {
				t.Errorf("%v, resources (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestApplyDoesNotChangeSharedValues(t *testing.T) {
	shared := task.Spec{Run: "x", Envs: map[string]string{"A": "1"}, Resources: task.Resources{AnyOf: []task.Resources{{CPUs: "1"}, {CPUs: "2"}}}}
	other := shared
	Overrides{Envs: map[string]string{"A": "2"}, Memory: "8"}.Override(&other)
	if shared.Envs["A"] != "1" || shared.Resources.AnyOf[0].Memory != "" || other.Envs["A"] != "2" || other.Resources.AnyOf[0].Memory != "8" {
		t.Errorf("%+v, %+v", shared, other)
	}
}

func TestDeclares(t *testing.T) {
	for file, want := range map[string]bool{
		"envs: {LR: 1}": true, "envs: {LR: null}": true, "envs: {RATE: 1}": false, "run: echo $LR": false, "envs: 7": false, "{": false,
	} {
		if got := Declares([]byte(file), "LR"); got != want {
			t.Errorf("%q declares LR: %t", file, got)
		}
	}
}
