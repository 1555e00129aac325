package state

import (
	"math"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/outputs"
)

// outputsStored records the outputs of a node. A task that is over gets no later time of its last
// change, because that time is when the task ended.
func (s *State) outputsStored(f outputs.Stored) (task.Result, []task.Key) {
	r := s.Tasks[f.ID].Record()
	switch {
	case r == nil || len(r.Submit.Task.Outputs) == 0 || f.Rank < 0 || f.Rank >= r.NumNodes():
		return reject(f.ID, task.RejectedNotFound)
	case r.Phase.Over() && s.Time.After(r.UpdatedAt.Add(outputs.Grace)):
		return reject(f.ID, task.RejectedStale)
	case isEarlierAttempt(r, f):
		return reject(f.ID, task.RejectedStale)
	}
	next := *r
	next.Outputs = outputs.Put(r.Outputs, f)
	grows := outputs.Size(next.Outputs) - outputs.Size(r.Outputs)
	if f.Quota > 0 && grows > 0 && s.outputBytes[r.Submit.User]+grows > f.Quota {
		return reject(f.ID, task.RejectedTooMany)
	}
	if !r.Phase.Over() {
		next.UpdatedAt = later(r.UpdatedAt, s.Time)
	}
	s.put(&next)
	return accept(taskKey(f.ID))
}

// isEarlierAttempt reports whether the recorded outputs of the node are of a later attempt than these.
func isEarlierAttempt(r *task.Record, f outputs.Stored) bool {
	stored := outputs.Of(r.Outputs, f.Rank).Pod
	if stored == "" || f.Pod == "" {
		return false
	}
	number := func(pod string) int {
		for _, a := range r.Attempts {
			if a.Rank == f.Rank && a.UID == pod {
				return a.Number
			}
		}
		return math.MaxInt // the attempt has not ended
	}
	return number(f.Pod) < number(stored)
}

// OutputBytes returns the size of the stored outputs of all tasks of a user.
func (s *State) OutputBytes(user string) int64 { return s.outputBytes[user] }

// countOutputs counts the outputs of a task for its user; times is 1 to add and -1 to subtract.
func (s *State) countOutputs(t *CompactRecord, times int64) {
	if t == nil || len(t.Outputs()) == 0 {
		return
	}
	user := t.User()
	if s.outputBytes[user] += times * outputs.Size(t.Outputs()); s.outputBytes[user] == 0 {
		delete(s.outputBytes, user)
	}
}

// Outputs returns the outputs of the nodes of the task.
func (c *CompactRecord) Outputs() []outputs.Record {
	switch {
	case c.full != nil:
		return c.full.Outputs
	case c.extra != nil:
		return c.extra.outputs
	}
	return nil
}
