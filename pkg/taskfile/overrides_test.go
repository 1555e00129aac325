package taskfile

import (
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
	want := task.Task{Name: "better", NumNodes: 3, Run: "x", Envs: map[string]string{"TOKEN": "given", "KEPT": "file", "BOTH": "given"}}
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
