package cache

import (
	"time"

	"k8s-cli/pkg/task"
)

// Uploads are the archives of files that the log knows.
type Uploads struct{ model *guarded }

// Upload returns an upload of user by its SHA-256.
func (u Uploads) Upload(user, sum string) (task.UploadRecord, bool) {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	record, ok := u.model.state.Uploads[task.UploadKey{User: user, Sum: sum}]
	return record, ok
}

// TaskUpload returns an upload that a task needs which is not over.
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

// IdleUploads returns the command that discards the uploads that were not used for
// so long before now and that no task needs which is not over: at most limit.
func (u Uploads) IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	now, then := now.UTC(), now.UTC().Add(-unused)
	return task.DeleteUploads{Uploads: u.model.state.Idle(then.Add(-skew(unused)), now.Add(maxSkew), limit), Now: now, Then: then}
}

// UploadObjects returns the names of what is stored of all uploads.
func (u Uploads) UploadObjects() map[string]bool {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	names := make(map[string]bool, len(u.model.state.Uploads))
	for _, record := range u.model.state.Uploads {
		names[record.Object] = true
	}
	return names
}
