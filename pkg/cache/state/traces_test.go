package state

import (
	"testing"

	"k8s-cli/pkg/task"
)

func TestTracesOfAnEntry(t *testing.T) {
	traces := []task.Trace{{First: 1, Count: 2, Parent: "a"}, {First: 3, Count: 1, Parent: "b"}, {First: -1, Count: 1, Parent: "c"}, {First: 5, Count: 1 << 60, Parent: "d"}}
	for command, want := range []string{"", "a", "a", "b", "", "d", "d"} {
		var got string
		if got, traces = parentOf(command, traces); got != want {
			t.Errorf("command %d is asked for by %q, want %q", command, got, want)
		}
	}
}
