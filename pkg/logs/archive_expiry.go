package logs

import (
	"context"
	"time"

	"k8s-cli/pkg/task/attempt"
)

// sweep removes the archived logs of expired tasks and attempts. sweep uses a ticker, because nothing is
// lost if an archived log stays for some seconds more. A log is removed only if its task is
// missing in two checks in a row while the store is complete: the store is rebuilt when the
// log of commands is read anew.
func (a *Archiver) sweep(ctx context.Context) error {
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
		for _, name := range a.expired() {
			if missing[name] = true; before[name] {
				a.drop(ctx, name)
			}
		}
		a.prunePending()
	}
}

// expired returns the archived logs of tasks that do not exist, and of attempts that are
// neither among the first nor among the last ones of their node.
func (a *Archiver) expired() (names []string) {
	if !a.current() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.archived {
		if !a.busy[name] && a.isExpired(name) {
			names = append(names, name)
		}
	}
	return names
}

func (a *Archiver) isExpired(name string) bool {
	v := a.tasks.TaskView(archiveTask(name))
	if v.Record == nil {
		return true
	}
	rank, number := archiveAttempt(name)
	return !attempt.Kept(number, attempt.Last(v.Attempts, rank).Number)
}

func (a *Archiver) drop(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, storeWait)
	defer cancel()
	if err := a.tailer.store.Remove(ctx, name); err != nil {
		a.tailer.log.Warn("removing the archived log of an expired task failed; retrying", "task", archiveTask(name), "err", err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.archived, name)
}
