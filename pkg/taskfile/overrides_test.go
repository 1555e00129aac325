package taskfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

func TestOverridesReplaceWhatTheFileSays(t *testing.T) {
	file := "name: not a name\nnum_nodes: 2\nenvs: {TOKEN: null, KEPT: file, BOTH: file}\nrun: x\n"
	got, _, err := ParseWith([]byte(file), Overrides{
		Name: "better", NumNodes: 3, Envs: map[string]string{"TOKEN": "given", "BOTH": "given"},
	})
	if err != nil {
		t.Fatal(err)
	}
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

// TestSecretsAreGiven checks that secrets are overridden like variables, take precedence
// over variables, and never appear in errors.
func TestSecretsAreGiven(t *testing.T) {
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
