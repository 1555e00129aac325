package cache

import "k8s-cli/pkg/task"

// Usage returns what a user has: tasks that are not over, tasks whose Jobs are
// still to be created, and bytes of uploads.
func (p *Store) Usage(user string) task.Usage {
	p.mu.RLock()
	defer p.mu.RUnlock()
	u := task.Usage{Active: p.state.Active(user), Waiting: p.backlog.lengthOfUser(user)}
	for k, upload := range p.state.Uploads {
		if k.User == user {
			u.UploadBytes += upload.Size
		}
	}
	return u
}

// UploadSize returns the bytes of an archive that a user has, 0 if not.
func (p *Store) UploadSize(user, sum string) int64 {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.state.Uploads[task.UploadKey{User: user, Sum: sum}].Size
}

// Submitted reports whether a submission of a user under an idempotency key was
// accepted.
func (p *Store) Submitted(user, key string) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.state.Submitted(user, key)
}
