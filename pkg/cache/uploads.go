package cache

import (
	"time"

	"k8s-cli/pkg/task"
)

// Uploads provides the archives of files in the log.
type Uploads struct{ model *guarded }

// Upload returns an upload of user by its SHA-256.
func (u Uploads) Upload(user, sum string) (task.UploadRecord, bool) {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	record, ok := u.model.state.Uploads[task.UploadKey{User: user, Sum: sum}]
	return record, ok
}

// TaskUpload returns an upload that a task needs; ok is false if the task is over.
func (u Uploads) TaskUpload(id, sum string) (task.UploadRecord, bool) {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	r := u.model.state.Tasks[id].Record()
	if r == nil || r.Phase.Over() {
		return task.UploadRecord{}, false
	}
	for _, needed := range r.Submit.Task.Uploads {
		if needed == sum {
			record, ok := u.model.state.Uploads[task.UploadKey{User: r.Submit.User, Sum: sum}]
			return record, ok
		}
	}
	return task.UploadRecord{}, false
}

// IdleUploads returns the command that deletes at most limit uploads. The uploads were last
// used before now minus unused, and are needed only by tasks that are over.
func (u Uploads) IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	now, then := now.UTC(), now.UTC().Add(-unused)
	return task.DeleteUploads{Uploads: u.model.state.IdleUploads(then.Add(-skew(unused)), now.Add(maxSkew), limit), Now: now, Then: then}
}

// UploadObjects returns the names of the stored objects of all uploads.
func (u Uploads) UploadObjects() map[string]bool {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	names := make(map[string]bool, len(u.model.state.Uploads))
	for _, record := range u.model.state.Uploads {
		names[record.Object] = true
	}
	return names
}
