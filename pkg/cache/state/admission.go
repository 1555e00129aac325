package state

import "k8s-cli/pkg/task"

// A jobCount counts the Jobs that may exist: the nodes of all admitted tasks that are not
// cleaned up. The count follows from the records.
type jobCount struct {
	total  int
	ofUser map[string]int // users without Jobs are absent
}

// Jobs returns the number of Jobs of all users that may exist.
func (s *State) Jobs() int { return s.jobs.total }

// JobsOf returns the number of Jobs of a user that may exist.
func (s *State) JobsOf(user string) int { return s.jobs.ofUser[user] }

// add counts the Jobs of a task; times is 1 to add and -1 to subtract.
func (c *jobCount) add(t *CompactRecord, times int) {
	if t == nil || !t.admitted || t.cleanedUp {
		return
	}
	jobs, user := times*t.NumNodes(), t.User()
	c.total += jobs
	if c.ofUser[user] += jobs; c.ofUser[user] == 0 {
		delete(c.ofUser, user)
	}
}

// admit admits the tasks of a fact in order, within the limits. The first task of a job group
// admits the whole job group. A task that exceeds the limit
// of its user holds back no other user. A task that exceeds the total limit holds back all
// tasks after it; otherwise large tasks would never be admitted.
func (s *State) admit(f task.Admitted) (task.Result, []task.Key) {
	var changed []task.Key
	for _, id := range f.IDs {
		t := s.Tasks[id]
		if t == nil || t.admitted || t.Waits() || t.JobGroup().Follows() || t.Phase().Over() || f.Limits.ExceedsPerUser(s.JobsOf(t.User())+t.JobsToAdmit()) {
			continue
		}
		if f.Limits.ExceedsTotal(s.Jobs() + t.JobsToAdmit()) {
			break
		}
		next := s.change(t.Record(), func(r *task.Record) { r.Admitted = true })
		s.changeJobGroup(next, func(r *task.Record) { r.Admitted, r.Reason, r.Message = true, "", "" })
		changed = append(changed, taskKey(id))
	}
	return task.Result{Count: len(changed)}, changed
}
