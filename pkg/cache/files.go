package cache

import (
	"time"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// Files provides the archives of files in the log: the uploads of users, and the outputs of tasks.
type Files struct{ model *guarded }

// Upload returns an upload of user by its SHA-256.
func (f Files) Upload(user, sum string) (record task.UploadRecord, ok bool) {
	f.model.read(func(s *state.State) { record, ok = s.Uploads[task.UploadKey{User: user, Sum: sum}] })
	return record, ok
}

// TaskUpload returns an upload that a task needs; ok is false if the task is over.
func (f Files) TaskUpload(id, sum string) (record task.UploadRecord, ok bool) {
	f.model.read(func(s *state.State) {
		r := s.Tasks[id].Record()
		if r == nil || r.Phase.Over() {
			return
		}
		for _, needed := range r.Submit.Task.Uploads {
			if needed == sum {
				record, ok = s.Uploads[task.UploadKey{User: r.Submit.User, Sum: sum}]
				return
			}
		}
	})
	return record, ok
}

// IdleUploads returns the command that deletes at most limit uploads. The uploads were last
// used before now minus unused, and are needed only by tasks that are over.
func (f Files) IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads {
	f.model.mu.RLock()
	defer f.model.mu.RUnlock()
	now, then := now.UTC(), now.UTC().Add(-unused)
	return task.DeleteUploads{Uploads: f.model.state.IdleUploads(then.Add(-skew(unused)), now.Add(maxSkew), limit), Now: now, Then: then}
}

// UploadObjects returns the names of the stored objects of all uploads.
func (f Files) UploadObjects() map[string]bool {
	names := map[string]bool{}
	f.model.read(func(s *state.State) {
		for _, record := range s.Uploads {
			names[record.Object] = true
		}
	})
	return names
}

// OutputRecord returns the record of a task, and the size of the stored outputs of its user; ok is
// false if the task does not exist. Callers must not change the record.
func (f Files) OutputRecord(id string) (r *task.Record, used int64, ok bool) {
	f.model.read(func(s *state.State) {
		if r = s.Tasks[id].Record(); r != nil {
			used = s.OutputBytes(r.Submit.User)
		}
	})
	return r, used, r != nil
}

// OutputObjects returns the names of the stored objects of the outputs of all tasks.
func (f Files) OutputObjects() map[string]bool {
	names := map[string]bool{}
	f.model.read(func(s *state.State) {
		for _, t := range s.Tasks {
			for _, r := range t.Outputs() {
				if r.Object != "" {
					names[r.Object] = true
				}
			}
		}
	})
	return names
}
