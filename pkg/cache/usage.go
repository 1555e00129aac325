package cache

import "k8s-cli/pkg/task"

// Users are what each user has, for limits.
type Users struct{ model *guarded }

// Usage returns what a user has: tasks that are not over, tasks whose Jobs are
// still to be created, and bytes of uploads.
func (u Users) Usage(user string) task.Usage {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	usage := task.Usage{Active: u.model.state.Active(user), Waiting: u.model.admission.queue.lengthOfUser(user)}
	for k, upload := range u.model.state.Uploads {
		if k.User == user {
			usage.UploadBytes += upload.Size
		}
	}
	return usage
}

// UploadSize returns the bytes of an archive that a user has, 0 if not.
func (u Users) UploadSize(user, sum string) int64 {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	return u.model.state.Uploads[task.UploadKey{User: user, Sum: sum}].Size
}

// Submitted reports whether a submission of a user under an idempotency key was
// accepted.
func (u Users) Submitted(user, key string) bool {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	return u.model.state.Submitted(user, key)
}
