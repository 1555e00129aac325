package submit

import (
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// archiveWait is the longest time that the Jobs of a finished task wait for the archive of its
// logs, from the moment at which they would have been deleted. A kubelet or a store that does
// not answer thus cannot retain Jobs forever.
const archiveWait = 30 * time.Second

// archiveTimers holds the finished tasks whose Jobs wait for the archive.
type archiveTimers struct {
	mu    sync.Mutex
	since map[task.Key]time.Time // when the wait began; zero once the wait is over
}

// remaining returns how much longer a task waits; isOver is true only in the first call after
// the wait.
func (a *archiveTimers) remaining(k task.Key) (wait time.Duration, isOver bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	since, waits := a.since[k]
	if !waits {
		if a.since == nil {
			a.since = map[task.Key]time.Time{}
		}
		a.since[k] = time.Now()
		return archiveWait, false
	}
	if since.IsZero() {
		return 0, false
	}
	if wait = archiveWait - time.Since(since); wait > 0 {
		return wait, false
	}
	a.since[k] = time.Time{}
	return 0, true
}

func (a *archiveTimers) drop(k task.Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, k)
}

// awaitArchive returns how much longer the Jobs of a task stay, so that the end of no log is
// lost. The Jobs of a stopped task are deleted at once, because the archiver reads the logs of
// ending pods anyway.
func (c *Controller) awaitArchive(k task.Key, v task.View) time.Duration {
	if c.config.LogsArchived == nil || v.UIDs == nil || v.Phase == task.Stopped || c.config.LogsArchived(k.ID) {
		return 0
	}
	wait, isOver := c.archiveWaits.remaining(k)
	if isOver {
		c.config.Logger.Warn("archiving task logs takes too long; deleting the Jobs before their logs are archived", "task", k.ID, "waited", archiveWait)
	}
	return wait
}
