package logs

import (
	"maps"
	"slices"

	"k8s-cli/pkg/task"
)

// OnArchived makes the archiver call f when Archived may have changed from false to true
// for a task. The caller calls OnArchived before Run. f must not block.
func (a *Archiver) OnArchived(f func(task.Key)) { a.onArchived = f }

// Archived reports whether the Jobs of a task that is over can be deleted without losing
// logs: each log is stored, cannot be stored, or belongs to a Job that is already being
// deleted. Archived returns false until Run has listed the stored logs.
func (a *Archiver) Archived(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.archived != nil && a.isArchived(id) {
		delete(a.pending, id)
		return true
	}
	if a.pending == nil {
		a.pending = map[string]bool{}
	}
	a.pending[id] = true
	return false
}

// isArchived implements Archived. The caller holds the lock.
func (a *Archiver) isArchived(id string) bool {
	v := a.tasks.TaskView(id)
	if v.Record == nil {
		return true
	}
	for rank, job := range v.Jobs {
		if job == nil || job.Deleting {
			continue
		}
		for _, l := range podLogs(v, rank) {
			if a.archived[l.name] != l.pod.UID && !a.isUnreadable(l.name, l.pod) {
				return false
			}
		}
	}
	return true
}

// isUnreadable reports whether the log of a pod could not be read several times. The caller
// holds the lock.
func (a *Archiver) isUnreadable(name string, pod *task.Pod) bool {
	u := a.unread[name]
	return u.pod == pod.UID && u.tries >= unreadable
}

func (a *Archiver) notifyArchived(ids []string) {
	if a.onArchived == nil {
		return
	}
	for _, id := range ids {
		a.onArchived(task.Key{Kind: task.KindTask, ID: id})
	}
}

func (a *Archiver) isPending(id string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.pending[id]
}

// takePending returns and empties the set of tasks for which Archived was false.
func (a *Archiver) takePending() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := slices.Collect(maps.Keys(a.pending))
	a.pending = nil
	return ids
}

// prunePending removes the entries of tasks whose Jobs are deleted. Archived is not called for
// these tasks again, and their logs are not retried.
func (a *Archiver) prunePending() {
	a.mu.Lock()
	defer a.mu.Unlock()
	isGone := func(name string) bool {
		v := a.tasks.TaskView(archiveTask(name))
		return v.Record == nil || v.CleanedUp
	}
	maps.DeleteFunc(a.failed, func(name string, _ int) bool { return isGone(name) })
	maps.DeleteFunc(a.unread, func(name string, _ unread) bool { return isGone(name) })
	maps.DeleteFunc(a.pending, func(id string, _ bool) bool {
		v := a.tasks.TaskView(id)
		return v.Record == nil || v.CleanedUp
	})
}
