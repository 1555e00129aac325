package submit

import (
	"context"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// The end of tasks that run for longer than their max_duration. The record says when a task
// started, so every leader knows the deadline. Kubernetes cannot do this: activeDeadlineSeconds
// of a Job or a pod counts for each node or attempt alone, and includes the time that a pod
// waits for its machine.

// A runTimer measures by the clock of this process alone for how long tasks have run.
type runTimer struct {
	mu    sync.Mutex
	since map[string]time.Time // when this controller first found that a task runs, by id
}

// elapsed returns for how long this controller has known that a task runs.
func (r *runTimer) elapsed(id string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.since[id]; !ok {
		if r.since == nil {
			r.since = map[string]time.Time{}
		}
		r.since[id] = now
	}
	return now.Sub(r.since[id])
}

func (r *runTimer) drop(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, id)
}

func (r *runTimer) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.since = nil
}

// enforceDeadline ends a task that has run for its max_duration. again is the time until then,
// 0 without a deadline. The leader compares its clock with the log time of the start, and the
// fold compares log times, so one wrong clock does not end a task early. A task ends at the
// latest when the leader itself has seen the task run for max_duration, whatever the clocks say.
func (c *Controller) enforceDeadline(ctx context.Context, v task.View) (again time.Duration, err error) {
	deadline, ok := v.Deadline()
	if !ok {
		return 0, nil
	}
	now, limit := time.Now(), deadline.Sub(v.StartedAt)
	left := limit - c.runs.elapsed(v.Submit.ID, now)
	if again = min(left, deadline.Sub(now)); again > 0 {
		return again, nil
	}
	end := deadlineExceeded(v)
	if left > 0 {
		end.NotBefore = deadline
	}
	result, err := c.log.Append(ctx, task.Command{Ended: end})
	if result.Rejection == task.RejectedEarly {
		return min(left, max(limit/8, time.Second), time.Minute), err
	}
	return 0, err
}

// deadlineExceeded returns the end of a task whose max_duration has passed.
func deadlineExceeded(v task.View) *task.Ended {
	message := "the task has run for its max_duration of " + v.Submit.Task.MaxDuration
	end := &task.Ended{ID: v.Submit.ID, Phase: task.Failed, Nodes: v.NodeList(), Reason: task.ReasonDeadline, Message: message}
	for i := range end.Nodes {
		if n := &end.Nodes[i]; !n.Phase.Over() {
			n.Phase, n.Reason, n.Message = task.Failed, end.Reason, message
			n.ExitCode, n.FinishedAt = nil, nil // of an attempt that ended before
		}
	}
	return end
}

// sooner returns the shorter one of two waits; 0 means no wait.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
