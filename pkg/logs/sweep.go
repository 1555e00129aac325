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

// expired returns the archived logs of tasks that do not exist, and of attempts that are
// neither among the first nor among the last ones of their node.
func (k *Archiver) expired() (names []string) {
	if !k.current() {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for name := range k.archived {
		if !k.busy[name] && k.isExpired(name) {
			names = append(names, name)
		}
	}
	return names
}

func (k *Archiver) isExpired(name string) bool {
	v := k.tasks.TaskView(archiveTask(name))
	if v.Record == nil {
		return true
	}
	rank, number := archiveAttempt(name)
	return !attempt.Kept(number, attempt.Last(v.Attempts, rank).Number)
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
