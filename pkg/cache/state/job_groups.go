package state

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
)

// JobGroup returns the ids of the tasks of a job group by index, except for tasks that have left
// the history.
func (s *State) JobGroup(id string) []string {
	members := s.jobGroups[id]
	ids := make([]string, 0, len(members))
	for _, index := range slices.Sorted(maps.Keys(members)) {
		ids = append(ids, members[index])
	}
	return ids
}

// countInJobGroup adds a task to the index of its job group, or removes the task; times is 1 or -1.
func (s *State) countInJobGroup(t *CompactRecord, times int) {
	if t == nil || t.JobGroup() == nil {
		return
	}
	g := t.JobGroup()
	members := s.jobGroups[g.ID]
	switch {
	case times < 0:
		if delete(members, g.Index); len(members) == 0 {
			delete(s.jobGroups, g.ID)
		}
		return
	case members == nil:
		members = map[int]string{}
		s.jobGroups[g.ID] = members
	}
	members[g.Index] = t.ID
}

// JobGroup returns the membership of the task in a job group or nil.
func (c *CompactRecord) JobGroup() *task.JobGroup {
	if c.extra == nil {
		return nil
	}
	return c.extra.jobGroup
}

// JobsToAdmit is Record.JobsToAdmit.
func (c *CompactRecord) JobsToAdmit() int {
	if g := c.JobGroup(); g.Leads() {
		return g.Jobs
	}
	return c.NumNodes()
}

// isMisplaced reports whether a submission belongs to a job group whose first task does not exist, or
// is of another user.
// No server writes such a submission, but the fold must not leave a task that never starts.
func (s *State) isMisplaced(c task.Submit, together map[string]string) bool {
	g := c.JobGroup
	switch {
	case g == nil:
		return false
	case g.Leads():
		return g.ID != c.ID
	}
	first := s.Tasks[g.ID]
	return first == nil && together[g.ID] == "" || first != nil && first.User() != c.User || s.jobGroups[g.ID][g.Index] != ""
}

// joinJobGroup lets a new task that is not the first of its job group wait for the first one.
func (s *State) joinJobGroup(r *task.Record) *task.Record {
	g := r.Submit.JobGroup
	if !g.Follows() {
		return r
	}
	message := fmt.Sprintf("the task starts together with task %s of job group %s", g.ID, g.Name)
	return s.change(r, func(r *task.Record) { r.Reason, r.Message = task.ReasonJobGroup, message })
}

// changeJobGroup changes the tasks of the job group of r that are not over, without r, and reports
// the changes. Without a job group, changeJobGroup does nothing.
func (s *State) changeJobGroup(r *task.Record, set func(*task.Record)) {
	if r.Submit.JobGroup == nil {
		return
	}
	for _, id := range s.JobGroup(r.Submit.JobGroup.ID) {
		if other := s.Tasks[id].Record(); id != r.Submit.ID && !other.Phase.Over() {
			s.change(other, set)
			s.alsoChanged = append(s.alsoChanged, taskKey(id))
		}
	}
}

// endJobGroups ends the tasks of the job groups in which the present command has ended a task.
//
//   - A primary task that fails or is stopped ends all other tasks. So does a task that ends before
//     its Jobs exist, whatever its role: the job group can no longer start as a whole.
//   - When all primary tasks have completed, the auxiliary tasks end after their delay.
func (s *State) endJobGroups() {
	for i := 0; i < len(s.leftJobGroup); i++ { // an end may end further tasks
		ended := s.Tasks[s.leftJobGroup[i]]
		g := ended.JobGroup()
		active := slices.DeleteFunc(s.JobGroup(g.ID), func(id string) bool { return s.Tasks[id].Phase().Over() })
		switch {
		case len(active) == 0:
		case ended.Phase() != task.Completed && (g.Primary || !s.jobsExist(g)):
			s.failJobGroup(ended, active)
		case ended.Phase() == task.Completed && !slices.ContainsFunc(active, func(id string) bool { return s.Tasks[id].JobGroup().Primary }):
			s.completeJobGroup(g, active)
		}
	}
	s.leftJobGroup = nil
}

// jobsExist reports whether the Jobs of all tasks of a job group were created. Applied of the first
// task says so. A first task that has left the history was created.
func (s *State) jobsExist(g *task.JobGroup) bool {
	first := s.Tasks[g.ID]
	return first == nil || first.Applied()
}

func (s *State) failJobGroup(ended *CompactRecord, active []string) {
	how := strings.ToLower(string(ended.Phase()))
	if ended.Phase() == task.Stopped {
		how = "was stopped"
	}
	message := fmt.Sprintf("task %s (%s) of job group %s %s", ended.ID, ended.Name(), ended.JobGroup().Name, how)
	s.endTasks(active, func(r *task.Record) { r.Phase, r.Reason, r.Message = task.Stopped, task.ReasonJobGroupOver, message })
}

// completeJobGroup ends auxiliary tasks after the last primary task has completed: now, or, with a
// termination_delay, when the controller appends that the delay has passed. Like a sidecar
// container, an auxiliary task has then done its work: the task is completed.
func (s *State) completeJobGroup(g *task.JobGroup, active []string) {
	for _, id := range active {
		r := s.Tasks[id].Record()
		delay := r.Submit.JobGroup.TerminationDelay()
		if delay == 0 {
			s.endTasks([]string{id}, func(r *task.Record) {
				r.Phase, r.Reason, r.Message = task.Completed, task.ReasonPrimariesDone, "the primary tasks of job group "+g.Name+" have completed"
			})
			continue
		}
		if !r.StopAt.IsZero() {
			continue
		}
		next := s.change(r, func(r *task.Record) {
			r.StopAt, r.Reason = s.Time.Add(delay), task.ReasonPrimariesDone
			r.Message = fmt.Sprintf("the primary tasks of job group %s have completed; this task ends after its termination_delay of %s", g.Name, delay)
		})
		s.taskEvent(next, task.EventProgress)
		s.alsoChanged = append(s.alsoChanged, taskKey(id))
	}
}

// endTasks ends tasks that are not over because of the end of another task.
func (s *State) endTasks(ids []string, set func(*task.Record)) {
	s.stopTasks(ids, set)
	for _, id := range ids {
		s.alsoChanged = append(s.alsoChanged, taskKey(id))
	}
}
