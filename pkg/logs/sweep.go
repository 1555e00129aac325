package logs

import (
	"context"
	"time"
)

// sweep removes what was kept of tasks that are forgotten. It is a matter of
// time, not of change: hence the ticker. A task has to be missing twice while
// the scene is complete: the scene is made anew when the log of commands is.
func (k *Archiver) sweep(ctx context.Context) error {
	ticker := time.NewTicker(sweepEvery)
	defer ticker.Stop()
	missing := map[string]bool{}
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		before := missing
		missing = map[string]bool{}
		for _, name := range k.expired() {
			if missing[name] = true; before[name] {
				k.drop(ctx, name)
			}
		}
		k.prunePending()
	}
}

// expired returns the kept logs of tasks that are not there.
func (k *Archiver) expired() (names []string) {
	if !k.current() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.archived {
		if !k.busy[name] && k.tasks.TaskView(archiveTask(name)).Record == nil {
			names = append(names, name)
		}
	}
	return names
}

func (k *Archiver) drop(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := k.tailer.store.Remove(ctx, name); err != nil {
		k.tailer.log.Warn("removing the archived log of an expired task failed; retrying", "task", archiveTask(name), "err", err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.archived, name)
}
