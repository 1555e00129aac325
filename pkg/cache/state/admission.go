package state

import "k8s-cli/pkg/task"

// A jobCount is how many Jobs may exist: the nodes of all tasks that are admitted
// and of which something may be left in the cluster. It follows from the records.
type jobCount struct {
	total  int
	ofUser map[string]int // without those who have none
}

// Jobs returns how many Jobs of all users may exist.
func (s *State) Jobs() int { return s.jobs.total }

// JobsOf returns how many Jobs of a user may exist.
func (s *State) JobsOf(user string) int { return s.jobs.ofUser[user] }

// add counts the Jobs of a task so many times.
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

// admit admits the tasks of a fact in its order, as far as its limits allow. What
// exceeds the limit of its user holds back no other user; what exceeds the total
// holds back all that follows, or large tasks would never have their turn.
func (s *State) admit(f task.Admitted) (task.Result, []task.Key) {
	var changed []task.Key
	for _, id := range f.IDs {
		t := s.Tasks[id]
		if t == nil || t.admitted || t.Phase().Over() || f.Limits.ExceedsPerUser(s.JobsOf(t.User())+t.NumNodes()) {
			continue
		}
		if f.Limits.ExceedsTotal(s.Jobs() + t.NumNodes()) {
			break
		}
		s.change(t.Record(), func(r *task.Record) { r.Admitted = true })
		changed = append(changed, taskKey(id))
	}
	return task.Result{Count: len(changed)}, changed
}
