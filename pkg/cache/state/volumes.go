package state

import (
	"fmt"
	"slices"

	"k8s-cli/pkg/task"
)

func (s *State) create(c task.Create) (task.Result, []task.Key) {
	if s.Volumes[c.ID] != nil {
		return reject(c.ID, task.RejectedIDExists)
	}
	key, body := idempotency{task.KindVolume, c.User, c.Key}, bodyOf(c.Key, c)
	if result, repeated := s.repeated(key, body); repeated {
		return result, nil
	}
	s.useKey(key, c.ID, body)
	result, changed := accept(volumeKey(c.ID))
	if s.volumeNames[volumeName{c.User, c.Volume.Name}] > 0 {
		result.Warnings = []string{fmt.Sprintf("you have another volume named %s; tasks mount the oldest one of a name", c.Volume.Name)}
	}
	s.acceptVolume(c, c.Hash())
	return result, changed
}

// acceptVolume makes the record of a volume.
func (s *State) acceptVolume(c task.Create, hash string) {
	s.order++
	s.volumeNames[volumeName{c.User, c.Volume.Name}]++
	s.Volumes[c.ID] = &task.VolumeRecord{
		Create:    c,
		Hash:      hash,
		Seq:       s.Seq,
		Order:     s.order,
		CreatedAt: s.Time,
	}
	s.volumeEvent(s.Volumes[c.ID], task.EventPhase)
}

func (s *State) delete(c task.Delete) (task.Result, []task.Key) {
	v := s.Volumes[c.ID]
	if v == nil || v.Create.User != c.User || v.Deleted {
		return reject(c.ID, task.RejectedNotFound)
	}
	if !c.Force {
		if using := s.mounting(c.User, v.ClaimName()); len(using) > 0 {
			return task.Result{ID: c.ID, Rejection: task.RejectedInUse, Tasks: using}, nil
		}
	}
	s.changeVolume(v, func(v *task.VolumeRecord) { v.Deleted, v.DeletedAt, v.EndSeq = true, later(v.CreatedAt, s.Time), s.Seq })
	name := volumeName{c.User, v.Create.Volume.Name}
	if s.volumeNames[name]--; s.volumeNames[name] == 0 {
		delete(s.volumeNames, name)
	}
	return accept(volumeKey(c.ID))
}

// mounting returns the tasks of user that are not over and mount a claim.
func (s *State) mounting(user, claim string) (ids []string) {
	for id := range s.active[user] {
		for _, mounted := range s.Tasks[id].claims {
			if mounted == claim {
				ids = append(ids, id)
				break
			}
		}
	}
	slices.Sort(ids)
	return ids
}

func (s *State) volumeBlocked(f task.Blocked) (task.Result, []task.Key) {
	v := s.Volumes[f.Key.ID]
	if v == nil || v.Deleted || v.Rejected || v.UID != "" {
		return reject(f.Key.ID, task.RejectedStale)
	}
	s.changeVolume(v, func(v *task.VolumeRecord) { v.Reason, v.Message = f.Reason, f.Message })
	s.volumeEvent(s.Volumes[f.Key.ID], task.EventProgress)
	return accept(f.Key)
}

func (s *State) volumeApplied(f task.Applied) (task.Result, []task.Key) {
	v := s.Volumes[f.Key.ID]
	if v == nil || v.Deleted || v.Rejected || v.UID != "" || len(f.UIDs) != 1 {
		return reject(f.Key.ID, task.RejectedStale)
	}
	s.changeVolume(v, func(v *task.VolumeRecord) { v.UID, v.Reason, v.Message = f.UIDs[0], "", "" })
	s.appliedEvent(task.EventOfVolume(s.Volumes[f.Key.ID], s.Time, task.EventProgress), "its claim exists")
	return accept(f.Key)
}

// claimed rejects the fact for a deleted volume, whose claim may be in any phase.
func (s *State) claimed(f task.Claimed) (task.Result, []task.Key) {
	v := s.Volumes[f.ID]
	known := f.Phase == task.VolumeBound || f.Phase == task.VolumeLost
	if v == nil || v.Deleted || v.Rejected || v.UID == "" || !known || v.Phase == f.Phase {
		return reject(f.ID, task.RejectedStale)
	}
	s.changeVolume(v, func(v *task.VolumeRecord) { v.Phase = f.Phase })
	return accept(volumeKey(f.ID))
}

func (s *State) volumeRejected(f task.Rejected) (task.Result, []task.Key) {
	v := s.Volumes[f.Key.ID]
	if v == nil || v.Deleted || v.Rejected || v.UID != "" {
		return reject(f.Key.ID, task.RejectedStale)
	}
	s.changeVolume(v, func(v *task.VolumeRecord) {
		v.Rejected, v.Reason, v.Message = true, f.Reason, f.Message
	})
	return accept(f.Key)
}

// volumeCleanedUp retains the record, so that a claim that a paused pod creates late is known
// to be unwanted.
func (s *State) volumeCleanedUp(k task.Key) (task.Result, []task.Key) {
	v := s.Volumes[k.ID]
	if v == nil || !v.Deleted || v.CleanedUp {
		return reject(k.ID, task.RejectedStale)
	}
	s.changeVolume(v, func(v *task.VolumeRecord) { v.CleanedUp = true })
	return accept(k)
}

func (s *State) changeVolume(v *task.VolumeRecord, set func(*task.VolumeRecord)) {
	next := *v
	set(&next)
	s.Volumes[v.Create.ID] = &next
	if next.CurrentPhase() != v.CurrentPhase() {
		s.volumeEvent(&next, task.EventPhase)
	}
}
