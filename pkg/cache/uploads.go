package cache

import (
	"time"

	"k8s-cli/pkg/task"
)

// Upload returns an upload of user by its SHA-256.
func (p *Store) Upload(user, sum string) (task.UploadRecord, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	u, ok := p.state.Uploads[task.UploadKey{User: user, Sum: sum}]
	return u, ok
}

// TaskUpload returns an upload that a task needs which is not over.
func (p *Store) TaskUpload(id, sum string) (task.UploadRecord, bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	r := p.state.Tasks[id].Record()
	if r == nil || r.Phase.Over() {
		return task.UploadRecord{}, false
	}
	for _, needed := range r.Submit.Task.Uploads {
		if needed == sum {
			u, ok := p.state.Uploads[task.UploadKey{User: r.Submit.User, Sum: sum}]
			return u, ok
		}
	}
	return task.UploadRecord{}, false
}

// IdleUploads returns the command that discards the uploads that were not used for
// so long before now and that no task needs which is not over: at most limit.
func (p *Store) IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads {
	p.mu.RLock()
	defer p.mu.RUnlock()
	now, then := now.UTC(), now.UTC().Add(-unused)
	return task.DeleteUploads{Uploads: p.state.Idle(then.Add(-skew(unused)), now.Add(maxSkew), limit), Now: now, Then: then}
}

// UploadObjects returns the names of what is stored of all uploads.
func (p *Store) UploadObjects() map[string]bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	names := make(map[string]bool, len(p.state.Uploads))
	for _, u := range p.state.Uploads {
		names[u.Object] = true
	}
	return names
}
