package cache

import (
	"time"

	"k8s-cli/pkg/task"
)

// Uploads decides which uploads are no longer needed.
type Uploads struct{ model *guarded }

// IdleUploads returns the command that deletes at most limit uploads. The uploads were last
// used before now minus unused, and are needed only by tasks that are over.
func (u Uploads) IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads {
	u.model.mu.RLock()
	defer u.model.mu.RUnlock()
	now, then := now.UTC(), now.UTC().Add(-unused)
	return task.DeleteUploads{Uploads: u.model.state.IdleUploads(then.Add(-skew(unused)), now.Add(maxSkew), limit), Now: now, Then: then}
}
