package submit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// The end of tasks that run for longer than their max_duration, and of auxiliary tasks after their
// termination_delay. The record says when a task started, so every leader knows the deadline.
// Kubernetes cannot do this: activeDeadlineSeconds of a Job or a pod counts for each node or attempt
// alone, and includes the time that a pod waits for its machine.

// A runTimer measures by the clock of this process alone for how long something has lasted.
type runTimer struct {
	mu    sync.Mutex
	since map[string]time.Time // when this controller first knew about it, by name
}

// elapsed returns for how long this controller has known about something.
func (r *runTimer) elapsed(name string, now time.Time) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.since[name]; !ok {
		if r.since == nil {
			r.since = map[string]time.Time{}
		}
		r.since[name] = now
	}
	return now.Sub(r.since[name])
}

func (r *runTimer) drop(names ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		delete(r.since, name)
	}
}

// enforceDeadline ends a task that has run for its max_duration.
func (c *Controller) enforceDeadline(ctx context.Context, v task.View) (again time.Duration, err error) {
	deadline, ok := v.Deadline()
	if !ok {
		return 0, nil
	}
	return c.endAt(ctx, runOf(v), deadline, deadline.Sub(v.StartedAt), deadlineExceeded(v))
}

// endAuxiliary ends an auxiliary task of a job group when its termination_delay has passed.
func (c *Controller) endAuxiliary(ctx context.Context, v task.View) (again time.Duration, err error) {
	if v.StopAt.IsZero() {
		return 0, nil
	}
	return c.endAt(ctx, delayOf(v), v.StopAt, v.Submit.JobGroup.TerminationDelay(), primariesDone(v))
}

// The names of what runTimer measures.
func runOf(v task.View) string   { return v.Submit.ID }
func delayOf(v task.View) string { return v.Submit.ID + " after the primary tasks" }

// endAt ends a task at a log time, which is the given length after an event in the log. again is the
// time until then. The leader compares its clock with the log time, and the fold compares log times, so
// one wrong clock does not end a task early. A task ends at the latest when the leader itself has
// measured the length by its own clock, whatever the clocks say.
func (c *Controller) endAt(ctx context.Context, name string, at time.Time, length time.Duration, end *task.Ended) (again time.Duration, err error) {
	now := time.Now()
	left := length - c.runs.elapsed(name, now)
	if again = min(left, at.Sub(now)); again > 0 {
		return again, nil
	}
	if left > 0 {
		end.NotBefore = at
	}
	c.store.Samples.AddMax(end)
	result, err := c.log.Append(ctx, task.Command{Ended: end})
	if result.Rejection == task.RejectedEarly {
		return min(left, max(length/8, time.Second), time.Minute), err
	}
	return 0, err
}

// primariesDone returns the end of an auxiliary task after the primary tasks of its job group.
func primariesDone(v task.View) *task.Ended {
	g := v.Submit.JobGroup
	end := &task.Ended{ID: v.Submit.ID, Phase: task.Completed, Nodes: v.NodeList(), Reason: task.ReasonPrimariesDone}
	end.Message = fmt.Sprintf("the primary tasks of job group %s have completed, and the termination_delay of %s has passed", g.Name, g.TerminationDelay())
	for i := range end.Nodes {
		if n := &end.Nodes[i]; !n.Phase.Over() {
			n.Phase, n.Reason, n.Message = task.Completed, "", ""
		}
	}
	return end
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
