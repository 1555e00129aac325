package cache

import (
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/usage"
)

// A report covers the days from its first day until the day of the log, and no day that the ledger
// has forgotten.
func TestUsageReport(t *testing.T) {
	p := newTestStore(t)
	run := submit("ann", "a")
	run.Submit.Group, run.Submit.Task.Resources.CPUs = "g", "2"
	p.apply(run, submit("bob", "b"), task.Command{Applied: &task.Applied{Key: taskKey("a"), UIDs: []string{"u"}}})
	at := p.state.Tasks["a"].CreatedAt
	p.apply(task.Command{Ended: &task.Ended{ID: "a", Phase: task.Completed, Nodes: []task.Node{{Phase: task.Completed, StartedAt: &at, FinishedAt: new(at.Add(time.Millisecond))}}}}, stop("bob", "b"))
	today := usage.DayOf(p.state.Time)
	for _, tt := range []struct {
		name string
		q    usage.Query
		want int // tasks
	}{
		{"of a user", usage.Query{User: "ann", Since: today}, 1},
		{"of all users", usage.Query{AllUsers: true, Since: -1 << 31}, 2},
		{"of another group", usage.Query{User: "ann", Group: "h", Since: today}, 0},
		{"of tomorrow", usage.Query{AllUsers: true, Since: today + 1}, 0},
	} {
		if got := p.Answers.UsageReport(tt.q); got.Total.Tasks != tt.want {
			t.Errorf("%s: %+v, want %d tasks", tt.name, got, tt.want)
		}
	}
	if got := p.Answers.UsageReport(usage.Query{User: "ann", Since: today}).Total; got.CPU != 2*got.Nodes || got.Nodes <= 0 {
		t.Errorf("hours %+v", got)
	}
}
