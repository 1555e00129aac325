package state

import (
	"time"

	"k8s-cli/pkg/task"
)

// InHistory reports whether a task belongs to the history: only its record is left, or its
// finished Jobs are retained. A task that was stopped or rejected enters the history only
// after its Jobs are deleted.
func (c *CompactRecord) InHistory() bool {
	return c.CleanedUp() || c.Phase().Over() && c.Phase() != task.Stopped && c.Applied()
}

// put stores a task and replaces its earlier record.
func (s *State) put(r *task.Record) { s.replace(compact(r)) }

func (s *State) replace(t *CompactRecord) {
	s.drop(t.ID)
	s.Tasks[t.ID] = t
	s.count(t, 1)
}

func (s *State) drop(id string) {
	s.count(s.Tasks[id], -1)
	delete(s.Tasks, id)
}

// count counts a task in the size of the history, in the Jobs, in the outputs and in its groups;
// times is 1 to add and -1 to subtract.
func (s *State) count(t *CompactRecord, times int) {
	if t != nil && t.InHistory() {
		s.historySize += times
	}
	s.jobs.add(t, times)
	s.countOutputs(t, int64(times))
	s.countInGroup(t, times)
	s.countInJobGroup(t, times)
}

// expireHistory drops those tasks and volumes of the command that are cleaned up and exceed
// the age or the size of the history, and retired keys that are old enough.
func (s *State) expireHistory(c task.ExpireHistory) (task.Result, []task.Key) {
	var changed []task.Key
	for _, id := range c.IDs {
		t := s.Tasks[id]
		switch {
		case t == nil || !t.cleanedUp:
			continue
		case s.historySize > c.Tasks || s.longAgo(t.updatedAt, c.Now, c.Then):
			s.drop(id)
			s.retire(c, idempotency{task.KindTask, t.User(), t.key}, id, t.CreatedAt)
		case s.ahead(t.updatedAt, c.Now):
			s.replace(t.updated(later(s.Time, c.Now.UTC())))
		default:
			continue
		}
		changed = append(changed, taskKey(id))
	}
	historySize := s.volumesInHistory(len(c.Volumes) > 0)
	for _, id := range c.Volumes {
		v := s.Volumes[id]
		switch {
		case v == nil || !v.CleanedUp:
			continue
		case historySize > c.Tasks || s.longAgo(v.DeletedAt, c.Now, c.Then):
			historySize--
			delete(s.Volumes, id)
			s.retire(c, idempotency{task.KindVolume, v.Create.User, v.Create.Key}, id, v.CreatedAt)
		case s.ahead(v.DeletedAt, c.Now):
			s.changeVolume(v, func(v *task.VolumeRecord) { v.DeletedAt = later(s.Time, c.Now.UTC()) })
		default:
			continue
		}
		changed = append(changed, volumeKey(id))
	}
	return task.Result{Count: len(changed) + s.expireKeys(c)}, changed
}

// volumesInHistory returns the number of cleaned-up volumes, and 0 if the number is not
// needed.
func (s *State) volumesInHistory(needed bool) (count int) {
	if !needed {
		return 0
	}
	for _, v := range s.Volumes {
		if v.CleanedUp {
			count++
		}
	}
	return count
}

// longAgo reports whether a time is not after then, both by the clock that gave now and by log
// time.
func (s *State) longAgo(at, now, then time.Time) bool {
	return !at.After(then) && !at.After(s.Time.Add(then.Sub(now)))
}

// ahead reports whether a time is later than both clocks, which means that a wrong clock gave
// the time.
func (s *State) ahead(at, now time.Time) bool {
	return !now.IsZero() && at.After(now) && at.After(s.Time)
}
