package check

import (
	"slices"
	"testing"

	"k8s-cli/test/faults/history"
)

// A chain is a task t1 and a task t2 that comes after t1.
func chain(first, second history.Seen, objects ...history.Object) *history.History {
	ops := []history.Op{
		op(1, history.Op{Kind: history.Submit, Name: "t-1", Code: 200, Got: "t1"}),
		op(1, history.Op{Kind: history.Submit, Name: "t-2", After: []string{"t-1"}, Code: 200, Got: "t2"}),
		last("s0", first, second), last("s1", first, second),
	}
	return &history.History{Ops: ops, Objects: objects}
}

func TestDependencies(t *testing.T) {
	second := func(phase, reason string) history.Seen {
		return history.Seen{ID: "t2", Name: "t-2", User: "ann", Phase: phase, Created: "c2", Reason: reason}
	}
	for _, tt := range []struct {
		name string
		h    *history.History
		want []Rule
	}{
		{"in order", chain(task("completed"), second("completed", ""), job("ADDED", "u1", "t1", 5, 2), job("ENDED", "u1", "t1", 6, 3), job("ADDED", "u2", "t2", 7, 4)), nil},
		{"too early", chain(task("completed"), second("completed", ""), job("ADDED", "u1", "t1", 5, 2), job("ADDED", "u2", "t2", 6, 3), job("ENDED", "u1", "t1", 7, 4)), []Rule{Unordered}},
		{"without the first", chain(task("stopped"), second("stopped", ""), job("ADDED", "u2", "t2", 6, 3)), []Rule{Unordered}},
		{"completed after a task that was stopped", chain(task("stopped"), second("completed", ""), job("ADDED", "u1", "t1", 5, 2), job("ENDED", "u1", "t1", 6, 3), job("ADDED", "u2", "t2", 7, 4)), []Rule{Unordered}},
		{"ended with the first", chain(task("stopped"), second("failed", dependencyFailed)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := newIndex(tt.h, Config{})
			dependencies(x)
			agreement(x)
			if got := rules(x.found); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", x.found, tt.want)
			}
		})
	}
}
