package state

import "k8s-cli/pkg/task"

// adopted makes a record of a task or volume that is in the cluster but not in the log. The
// adopted record comes after all records of the log in order: submissions that were accepted
// here come first.
func (s *State) adopted(f task.Adopted) (task.Result, []task.Key) {
	switch {
	case f.Submit != nil && f.Create == nil:
		return s.adoptedTask(*f.Submit, f)
	case f.Create != nil && f.Submit == nil:
		return s.adoptedVolume(*f.Create, f)
	}
	return reject("", task.RejectedUnknownWriter)
}

func (s *State) adoptedTask(c task.Submit, f task.Adopted) (task.Result, []task.Key) {
	if s.Tasks[c.ID] != nil || len(f.UIDs) != c.Task.Nodes() || len(f.UIDs) > task.MaxNodes || s.contradicts(c) {
		return reject(c.ID, task.RejectedStale)
	}
	s.change(s.accept(c, f.Hash), func(r *task.Record) {
		r.Admitted, r.Adopted, r.CreatedAt, r.UIDs = true, true, f.CreatedAt.UTC(), f.UIDs
		dropSpec(r)
	})
	return accept(taskKey(c.ID))
}

// contradicts reports whether the job group of a task that is adopted has other tasks than the task
// says.
func (s *State) contradicts(c task.Submit) bool {
	g := c.JobGroup
	if g == nil {
		return false
	}
	first := s.Tasks[g.ID]
	return g.Leads() != (g.ID == c.ID) || first != nil && (first.User() != c.User || first.JobGroup() == nil) || s.jobGroups[g.ID][g.Index] != ""
}

func (s *State) adoptedVolume(c task.Create, f task.Adopted) (task.Result, []task.Key) {
	if s.Volumes[c.ID] != nil || len(f.UIDs) != 1 {
		return reject(c.ID, task.RejectedStale)
	}
	s.acceptVolume(c, f.Hash)
	s.changeVolume(s.Volumes[c.ID], func(v *task.VolumeRecord) { v.CreatedAt, v.UID = f.CreatedAt.UTC(), f.UIDs[0] })
	return accept(volumeKey(c.ID))
}
