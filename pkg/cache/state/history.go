package state

import "k8s-cli/pkg/task"

// forget drops tasks and volumes from the history, as far as they are gone.
func (s *State) forget(c task.Forget) (task.Verdict, []task.Key) {
	var changed []task.Key
	for _, id := range c.IDs {
		r := s.Tasks[id]
		if r == nil || !r.gone {
			continue
		}
		delete(s.Tasks, id)
		delete(s.keys, idempotency{task.KindTask, r.User(), r.key})
		changed = append(changed, taskKey(id))
	}
	for _, id := range c.Volumes {
		v := s.Volumes[id]
		if v == nil || !v.Gone {
			continue
		}
		delete(s.Volumes, id)
		delete(s.keys, idempotency{task.KindVolume, v.Create.User, v.Create.Key})
		changed = append(changed, volumeKey(id))
	}
	return task.Verdict{Count: len(changed)}, changed
}
