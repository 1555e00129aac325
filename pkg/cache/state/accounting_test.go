package state

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/usage"
)

// requests returns a submission that requests 2 cores, 4 GiB and 8 GPUs for each node.
func requests(group, user, id string, nodes int) task.Command {
	c := submitTo(group, user, id)
	c.Submit.Task.NumNodes = nodes
	c.Submit.Task.Resources = task.Resources{CPUs: "2", Memory: "4", Accelerators: "H100:8"}
	return c
}

func endedAt(id string, p task.Phase, nodes ...task.Node) task.Command {
	return task.Command{Ended: &task.Ended{ID: id, Phase: p, Nodes: nodes}}
}

func span(from, to time.Duration) task.Node {
	return task.Node{Phase: task.Completed, StartedAt: new(noon.Add(from)), FinishedAt: new(noon.Add(to))}
}

// used returns the usage of all days as text, oldest first.
func used(s *State) (all []string) {
	for _, l := range s.ledger.lines() {
		all = append(all, fmt.Sprintf("%s %s/%s %d: %g nodes, %g cores, %g GPUs, %g GiB", l.Day, l.User, l.Group, l.Tasks, l.Nodes, l.CPU, l.GPU, l.Memory))
	}
	return all
}

// foldLater folds a command at a later log time.
func (s *testState) foldLater(by time.Duration, c task.Command) {
	s.t.Helper()
	if r := s.foldAt(s.Time.Add(by), time.Time{}, c); r.Rejection != "" {
		s.t.Fatalf("fold %s: %+v", text(c), r)
	}
}

func TestUsageOfTasks(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(w *testState)
		want []string
	}{
		{"a run of an hour", func(w *testState) {
			w.foldLater(2*time.Hour, endedAt("a", task.Completed, span(time.Hour, 2*time.Hour)))
		}, []string{"2025-10-05 ann/g 1: 3600 nodes, 7200 cores, 28800 GPUs, 14400 GiB"}},
		{"several nodes", func(w *testState) {
			w.fold(requests("", "bob", "b", 2))
			w.fold(applied(taskKey("b"), "u", "v"))
			w.foldLater(2*time.Hour, endedAt("b", task.Failed, span(time.Minute, 2*time.Minute), span(time.Minute, 3*time.Minute)))
		}, []string{"2025-10-05 bob/ 1: 180 nodes, 360 cores, 1440 GPUs, 720 GiB"}},
		{"a run over midnight counts for both days", func(w *testState) {
			w.foldLater(24*time.Hour, endedAt("a", task.Completed, span(11*time.Hour, 14*time.Hour)))
		}, []string{"2025-10-05 ann/g 0: 3600 nodes, 7200 cores, 28800 GPUs, 14400 GiB", "2025-10-06 ann/g 1: 7200 nodes, 14400 cores, 57600 GPUs, 28800 GiB"}},
		{"a stopped task ran until its stop", func(w *testState) {
			w.fold(task.Command{Started: &task.Started{ID: "a", Nodes: []task.Node{{Phase: task.Running, StartedAt: new(w.Time)}}}})
			w.foldLater(99*time.Second, stop("ann", "a"))
		}, []string{"2025-10-05 ann/g 1: 100 nodes, 200 cores, 800 GPUs, 400 GiB"}},
		{"an end without nodes", func(w *testState) {
			w.fold(task.Command{Started: &task.Started{ID: "a", Nodes: []task.Node{{Phase: task.Running, StartedAt: new(w.Time)}}}})
			w.foldLater(99*time.Second, endedAt("a", task.Failed))
		}, []string{"2025-10-05 ann/g 1: 100 nodes, 200 cores, 800 GPUs, 400 GiB"}},
		{"restarts count", func(w *testState) {
			w.foldLater(time.Hour, restarted("a", task.Attempt{Number: 1, UID: "p", StartedAt: new(noon.Add(time.Minute)), FinishedAt: new(noon.Add(2 * time.Minute))}))
			w.foldLater(time.Minute, endedAt("a", task.Failed, span(3*time.Minute, 4*time.Minute)))
		}, []string{"2025-10-05 ann/g 1: 120 nodes, 240 cores, 960 GPUs, 480 GiB"}},
		{"a stopped task with restarts counts each second once", func(w *testState) {
			w.fold(task.Command{Started: &task.Started{ID: "a", Nodes: []task.Node{{Phase: task.Running, StartedAt: new(noon.Add(time.Minute))}}}})
			w.foldLater(time.Hour, restarted("a", task.Attempt{Number: 1, UID: "p", StartedAt: new(noon.Add(time.Minute)), FinishedAt: new(noon.Add(30 * time.Minute))}))
			w.foldLater(noon.Add(2*time.Hour).Sub(w.Time), stop("ann", "a"))
		}, []string{"2025-10-05 ann/g 1: 7140 nodes, 14280 cores, 57120 GPUs, 28560 GiB"}},
		{"a task that never ran", func(w *testState) { w.fold(stop("ann", "a")) }, []string{"2025-10-05 ann/g 1: 0 nodes, 0 cores, 0 GPUs, 0 GiB"}},
		{"wrong clocks of machines", func(w *testState) {
			w.foldLater(58*time.Second, endedAt("a", task.Completed, span(-365*24*time.Hour, 365*24*time.Hour), task.Node{StartedAt: new(noon.Add(time.Hour)), FinishedAt: new(noon)}))
		}, []string{"2025-10-05 ann/g 1: 59 nodes, 118 cores, 472 GPUs, 236 GiB"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newTestState(t, requests("g", "ann", "a", 1), applied(taskKey("a"), "u"))
			tt.do(w)
			if got := used(w.State); !slices.Equal(got, tt.want) {
				t.Errorf("used %q, want %q", got, tt.want)
			}
			if got := used(decoded(t, encoded(t, w.Snapshot()))); !slices.Equal(got, tt.want) {
				t.Errorf("after a snapshot: used %q, want %q", got, tt.want)
			}
		})
	}
}

// The ledger is bounded: it forgets old days, and counts many groups of one day together.
func TestTheLedgerIsBounded(t *testing.T) {
	w := newTestState(t)
	for n := range maxGroupsPerDay + 50 {
		id := fmt.Sprint("t", n)
		w.fold(submitTo(fmt.Sprint("g", n), "ann", id))
		w.fold(stop("ann", id))
	}
	lines := w.ledger.lines()
	if len(lines) != maxGroupsPerDay+1 || lines[0].Group != "" || lines[0].Tasks != 50 {
		t.Errorf("%d lines, the first one %+v", len(lines), lines[0])
	}
	w.fold(requests("old", "ann", "runs", 1))
	w.fold(applied(taskKey("runs"), "u"))
	w.foldLater(usage.GroupDays*usage.DayLength, endedAt("runs", task.Completed, span(0, time.Hour)))
	if lines := w.ledger.lines(); len(lines) != 2 || lines[0].Group != "" || lines[0].Tasks != maxGroupsPerDay+50 || lines[0].Nodes == 0 || lines[1].Group != "old" {
		t.Errorf("after %d days: %q", usage.GroupDays, used(w.State))
	}
	w.fold(submit("ann", "late"))
	w.foldLater((usage.GroupDays+usage.MaxDays+1)*usage.DayLength, stop("ann", "late"))
	if got := used(w.State); len(got) != 1 {
		t.Errorf("%d lines are left: %q", len(got), got[:min(len(got), 5)])
	}
	sum := usage.Sum{}
	for _, s := range w.Usage(usage.DayOf(w.Time)) {
		sum = sum.Plus(s)
	}
	if sum.Tasks != 1 || math.IsNaN(sum.CPU) {
		t.Errorf("today: %+v", sum)
	}
}
