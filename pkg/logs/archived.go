package logs

import (
	"maps"
	"slices"

	"k8s-cli/pkg/task"
)

// OnArchived makes the archiver call f when Archived may have changed from false to true
// for a task. The caller calls OnArchived before Run. f must not block.
func (k *Archiver) OnArchived(f func(task.Key)) { k.onArchived = f }

// Archived reports whether the Jobs of a task that is over can be deleted without losing
// logs: each log is stored, cannot be stored, or belongs to a Job that is already being
// deleted. Archived returns false until Run has listed the stored logs.
func (k *Archiver) Archived(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.archived != nil && k.isArchived(id) {
		delete(k.pending, id)
		return true
	}
	if k.pending == nil {
		k.pending = map[string]bool{}
	}
	k.pending[id] = true
	return false
}

// isArchived implements Archived. The caller holds the lock.
func (k *Archiver) isArchived(id string) bool {
	v := k.tasks.TaskView(id)
	if v.Record == nil {
		return true
	}
	for rank, job := range v.Jobs {
		if job == nil || job.Deleting {
			continue
		}
		for _, l := range podLogs(v, rank) {
			if k.archived[l.name] != l.pod.UID && !k.isUnreadable(l.name, l.pod) {
				return false
			}
		}
	}
	return true
}

// isUnreadable reports whether the log of a pod could not be read several times. The caller
// holds the lock.
func (k *Archiver) isUnreadable(name string, pod *task.Pod) bool {
	u := k.unread[name]
	return u.pod == pod.UID && u.tries >= unreadable
}

func (k *Archiver) notifyArchived(ids []string) {
	if k.onArchived == nil {
		return
	}
	for _, id := range ids {
		k.onArchived(task.Key{Kind: task.KindTask, ID: id})
	}
}

func (k *Archiver) isPending(id string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.pending[id]
}

// takePending returns and empties the set of tasks for which Archived was false.
func (k *Archiver) takePending() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	ids := slices.Collect(maps.Keys(k.pending))
	k.pending = nil
	return ids
}

// prunePending removes the entries of tasks whose Jobs are deleted. Archived is not called for
// these tasks again, and their logs are not retried.
func (k *Archiver) prunePending() {
	k.mu.Lock()
	defer k.mu.Unlock()
	isGone := func(name string) bool {
		v := k.tasks.TaskView(archiveTask(name))
		return v.Record == nil || v.CleanedUp
	}
	maps.DeleteFunc(k.failed, func(name string, _ int) bool { return isGone(name) })
	maps.DeleteFunc(k.unread, func(name string, _ unread) bool { return isGone(name) })
	maps.DeleteFunc(k.pending, func(id string, _ bool) bool {
		v := k.tasks.TaskView(id)
		return v.Record == nil || v.CleanedUp
	})
}
