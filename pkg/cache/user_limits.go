package cache

import "k8s-cli/pkg/task"

// Users provides the usage of each user, for limits.
type Users struct{ model *guarded }

// Usage returns the usage of a user: tasks that are not over, tasks whose Jobs are not created
// yet, and bytes of uploads.
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

// UploadSize returns the size of a user's upload in bytes, 0 if the user has no such upload.
func (u Users) UploadSize(user, sum string) int64 {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	return u.model.state.Uploads[task.UploadKey{User: user, Sum: sum}].Size
}

// Submitted reports whether a submission of a user under an idempotency key was accepted.
func (u Users) Submitted(user, key string) bool {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	return u.model.state.Submitted(user, key)
}
