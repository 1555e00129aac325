package state

import (
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

func limited(c task.Command) task.Command {
	c.Submit.Task.MaxDuration = "1h"
	return c
}

func endedAfter(id string, at time.Time) task.Command {
	return task.Command{Ended: &task.Ended{ID: id, Phase: task.Failed, Reason: task.ReasonDeadline, NotBefore: at}}
}

// The time of a task counts from the log time of its first start, whatever happens later.
func TestDeadlineCountsFromTheFirstStart(t *testing.T) {
	start := noon.Add(time.Minute)
	for name, first := range map[string]task.Command{"a start": started("a"), "a restart": restarted("a", failed(0, 1))} {
		w := newTestState(t, recovers(limited(submit("ann", "a"))), applied(taskKey("a"), "u"))
		if at, ok := w.Tasks["a"].Record().Deadline(); ok {
			t.Errorf("%s: a pending task has the deadline %s", name, at)
		}
		w.foldAt(start, time.Time{}, first)
		w.foldAt(start.Add(time.Minute), time.Time{}, restarted("a", failed(0, 1), failed(0, 2)))
		restored := decoded(t, encoded(t, w.Snapshot()))
		for what, s := range map[string]*State{"the state": w.State, "its snapshot": restored} {
			if at, ok := s.Tasks["a"].Record().Deadline(); !ok || !at.Equal(start.Add(time.Hour)) {
				t.Errorf("%s: in %s, the deadline is %s, %t", name, what, at, ok)
			}
		}
	}
	w := newTestState(t, submit("ann", "a"), applied(taskKey("a"), "u"), started("a"))
	if r := w.Tasks["a"].Record(); !r.StartedAt.IsZero() {
		t.Errorf("a task without a limit has the start %s", r.StartedAt)
	}
}

// The clock of the leader alone does not end a task.
func TestDeadlineNeedsLogTime(t *testing.T) {
	deadline := noon.Add(time.Hour)
	for _, tt := range []struct {
		name            string
		stored, written time.Time // by the clocks of NATS and of the leader
		want            task.Rejection
	}{
		{"both are before", deadline.Add(-1), deadline.Add(-1), task.RejectedEarly},
		{"both are after", deadline, deadline, ""},
		{"the leader is ahead", noon.Add(time.Minute), deadline.Add(year), task.RejectedEarly},
		{"NATS is ahead", deadline.Add(year), noon.Add(time.Minute), task.RejectedEarly},
	} {
		w := newTestState(t, limited(submit("ann", "a")), applied(taskKey("a"), "u"), started("a"))
		if got := w.foldAt(tt.stored, tt.written, endedAfter("a", deadline)); got.Rejection != tt.want {
			t.Errorf("%s: %+v, want %q", tt.name, got, tt.want)
		}
		if r := w.Tasks["a"].Record(); r.Phase.Over() != (tt.want == "") {
			t.Errorf("%s: the task is %s", tt.name, r.Phase)
		}
	}
	w := newTestState(t, limited(submit("ann", "a")), applied(taskKey("a"), "u"), started("a"))
	if got := w.foldAt(noon, noon, endedAfter("a", time.Time{})); got.Rejection != "" || w.Tasks["a"].Record().Submit.Task.MaxDuration != "1h" {
		t.Errorf("an end without a condition: %+v", got)
	}
}
