package submit

import (
	"context"
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

const (
	expireInterval = time.Second // between two checks of the history
	expireRetry    = time.Minute // after a command that the fold did not carry out completely
	expireBatch    = 1000        // tasks, and volumes, in one command
)

// An earlyEviction holds the finished tasks whose Jobs are deleted before KeepJobs has passed:
// the tasks exceed the history, or other tasks wait for their places.
type earlyEviction struct {
	mu  sync.Mutex
	all map[task.Key]bool
}

// add adds k and reports whether k was absent.
func (e *earlyEviction) add(k task.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.all[k] {
		return false
	}
	if e.all == nil {
		e.all = map[task.Key]bool{}
	}
	e.all[k] = true
	return true
}

func (e *earlyEviction) has(k task.Key) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.all[k]
}

func (e *earlyEviction) drop(k task.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.all, k)
}

// evict deletes the Jobs of finished tasks early.
func (c *Controller) evict(finished []task.Key) {
	for _, k := range finished {
		if c.earlyEvictions.add(k) {
			c.Enqueue(k)
		}
	}
}

// expireHistory expires the tasks and volumes that exceed the age or the size of the history,
// until ctx ends. Age is a matter of time and not of change, therefore a ticker starts each
// check.
func (c *Controller) expireHistory(ctx context.Context) {
	ticker := time.NewTicker(expireInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if _, ok := c.log.WaitReadIndex(ctx); !ok {
			continue
		}
		ticker.Reset(expireInterval)
		f, retained := c.store.Expired(time.Now(), c.config.History, c.config.HistoryTasks, expireBatch)
		c.evict(retained)
		asked := len(f.IDs) + len(f.Volumes) + f.Keys
		if asked == 0 {
			continue
		}
		result, err := c.log.Append(ctx, task.Command{ExpireHistory: &f})
		switch {
		case ctx.Err() != nil:
		case err != nil:
			c.config.Logger.Warn("removing expired tasks and volumes from the history failed; retrying", "err", err)
		case result.Count < asked:
			c.config.Logger.Warn("kept expired tasks in the history: the clocks of this pod and of NATS differ; correct the wrong clock", "requested", asked, "expired", result.Count)
			ticker.Reset(expireRetry)
		}
	}
}
