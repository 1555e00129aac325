package state

import (
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

// withOutputs is the submission of a task of two nodes with outputs.
func withOutputs(user, id string) task.Command {
	c := submitNodes(user, id, 2)
	c.Submit.Task.Outputs = []string{"results", "logs"}
	return c
}

func storedOutputs(id string, rank int, size, quota int64) task.Command {
	return task.Command{OutputsStored: &outputs.Stored{ID: id, Rank: rank, Archive: outputs.Archive{Object: id, Size: size, Sum: "x"}, Quota: quota}}
}

func TestOutputs(t *testing.T) {
	s := newTestState(t)
	for _, step := range []struct {
		what string
		c    task.Command
		want task.Rejection
		used int64 // by ann, afterwards
	}{
		{"submit", withOutputs("ann", "a"), "", 0},
		{"submit without outputs", submitNodes("ann", "plain", 1), "", 0},
		{"apply", applied(taskKey("a"), "u", "v"), "", 0},
		{"node 0", storedOutputs("a", 0, 10, 25), "", 10},
		{"node 1", storedOutputs("a", 1, 10, 25), "", 20},
		{"another attempt of node 1", storedOutputs("a", 1, 15, 25), "", 25},
		{"above the quota", storedOutputs("a", 1, 16, 25), task.RejectedTooMany, 25},
		{"a lower quota, fewer bytes", storedOutputs("a", 1, 14, 5), "", 24},
		{"no such node", storedOutputs("a", 2, 1, 0), task.RejectedNotFound, 24},
		{"a negative node", storedOutputs("a", -1, 1, 0), task.RejectedNotFound, 24},
		{"no such task", storedOutputs("b", 0, 1, 0), task.RejectedNotFound, 24},
		{"a task without outputs", storedOutputs("plain", 0, 1, 0), task.RejectedNotFound, 24},
		{"stop", stop("ann", "a"), "", 24},
		{"after the stop", storedOutputs("a", 0, 11, 0), "", 25},
		{"clean up", gone(taskKey("a")), "", 25},
		{"after the cleanup", storedOutputs("a", 0, 12, 0), "", 26},
	} {
		if got, _ := s.fold(step.c); got.Rejection != step.want || s.OutputBytes("ann") != step.used {
			t.Errorf("%s: rejection %q, %d bytes, want %q and %d", step.what, got.Rejection, s.OutputBytes("ann"), step.want, step.used)
		}
	}
	r := s.Tasks["a"].Record()
	if r.Outputs[0].Size != 12 || r.Outputs[1].Size != 14 || !r.UpdatedAt.Equal(s.Tasks["a"].Ended()) {
		t.Errorf("%+v, changed at %s", r.Outputs, r.UpdatedAt)
	}
	s.foldAt(s.Time.Add(outputs.Grace), time.Time{}, stop("ann", "a"))
	if got := s.foldAt(s.Time.Add(time.Second), time.Time{}, storedOutputs("a", 0, 1, 0)); got.Rejection != task.RejectedStale {
		t.Errorf("long after the end: %+v", got)
	}
	restored := decoded(t, encoded(t, s.Snapshot()))
	if restored.OutputBytes("ann") != 26 || len(restored.Tasks["a"].Outputs()) != 2 {
		t.Errorf("the snapshot has %d bytes of outputs", restored.OutputBytes("ann"))
	}
	s.fold(task.Command{ExpireHistory: &task.ExpireHistory{IDs: []string{"a"}}})
	if s.OutputBytes("ann") != 0 || len(s.outputBytes) != 0 {
		t.Errorf("after the task left the history: %v", s.outputBytes)
	}
}

// The outputs of an earlier attempt, which arrive late, do not replace those of a later attempt.
func TestOutputsOfAnEarlierAttempt(t *testing.T) {
	s := newTestState(t)
	s.fold(withOutputs("ann", "a"))
	s.fold(applied(taskKey("a"), "u", "v"))
	from := func(pod string, size int64) task.Command {
		c := storedOutputs("a", 0, size, 0)
		c.OutputsStored.Pod = pod
		return c
	}
	attempt := func(number int) task.Command {
		return restarted("a", failed(0, number))
	}
	for _, step := range []struct {
		what string
		c    task.Command
		want task.Rejection
		size int64
	}{
		{"the first attempt", from("pod-0-1", 1), "", 1},
		{"the first attempt ends", attempt(1), "", 1},
		{"the first attempt again", from("pod-0-1", 2), "", 2},
		{"the second attempt", from("pod-0-2", 3), "", 3},
		{"the first attempt, late", from("pod-0-1", 4), task.RejectedStale, 3},
		{"the second attempt ends", attempt(2), "", 3},
		{"the first attempt, very late", from("pod-0-1", 4), task.RejectedStale, 3},
		{"the third attempt", from("pod-0-3", 5), "", 5},
	} {
		if got, _ := s.fold(step.c); got.Rejection != step.want || s.OutputBytes("ann") != step.size {
			t.Errorf("%s: rejection %q, %d bytes, want %q and %d", step.what, got.Rejection, s.OutputBytes("ann"), step.want, step.size)
		}
	}
}
