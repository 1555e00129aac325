package group

import (
	"errors"
	"strings"
	"testing"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/problem"
)

func TestNames(t *testing.T) {
	for _, name := range []string{"a", "sweep-1", "A.b_c", strings.Repeat("a", 63)} {
		if err := CheckName(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"", "a b", "-a", "a.", "a/b", "ä", "..", strings.Repeat("a", 64)} {
		if CheckName(name) == nil {
			t.Errorf("%q is accepted", name)
		}
	}
	for text, want := range map[string]string{
		"train": "train", "Multi_Node.x": "Multi_Node.x", "": "", "ä": "", "a b/c": "a-b-c", "my ünit": "my--nit",
		"-x.": "x", strings.Repeat("a", 38) + "--b": strings.Repeat("a", 38), strings.Repeat("b", 99): strings.Repeat("b", 40),
	} {
		if got := Name(text, 40); got != want || got != "" && CheckName(got) != nil {
			t.Errorf("the name of %q is %q, want %q", text, got, want)
		}
	}
	if err := NotFound("a"); !errors.Is(err, problem.NotFound) || err.Error() != `Group "a" not found` {
		t.Error(err)
	}
}

func TestStatus(t *testing.T) {
	for _, tt := range []struct {
		name                                         string
		pending, running, completed, failed, stopped int
		want                                         task.Phase
	}{
		{"nothing runs", 2, 0, 0, 0, 0, task.Pending},
		{"one task runs", 1, 1, 0, 0, 0, task.Running},
		{"the rest waits", 1, 0, 1, 0, 0, task.Running},
		{"the rest waits after a failure", 1, 0, 0, 1, 0, task.Running},
		{"all completed", 0, 0, 2, 0, 0, task.Completed},
		{"one was stopped", 0, 0, 1, 0, 1, task.Stopped},
		{"a failure beats a stop", 0, 0, 1, 1, 1, task.Failed},
	} {
		counts := overview.Counts{task.Pending: tt.pending, task.Running: tt.running, task.Completed: tt.completed, task.Failed: tt.failed, task.Stopped: tt.stopped}
		if got := Status(counts); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
		if g := (Group{ByStatus: counts}); g.Over() != tt.completed+tt.failed+tt.stopped {
			t.Errorf("%s: %d tasks are over", tt.name, g.Over())
		}
	}
}
