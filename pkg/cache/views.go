package cache

import (
	"k8s-cli/pkg/task"
)

// Views provides views of tasks and volumes of all users.
type Views struct{ model *guarded }

// Keys returns the keys of all objects that may need work, including orphans. Objects of the
// history that have nothing left in the cluster are not included; a watch reports objects that
// appear late.
func (v Views) Keys() []task.Key {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	return v.model.keys()
}

// TaskView returns the view of a task, the zero View if the task is unknown.
func (v Views) TaskView(id string) task.View {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	if v.model.tasks[id] == nil {
		return task.View{}
	}
	return v.model.tasks[id].view()
}

// JobGroup returns the ids of the tasks of a job group.
func (v Views) JobGroup(id string) []string {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	return v.model.state.JobGroup(id)
}

// WatchTask returns the view of a task, and a channel that is closed when the view changes.
// The channel is nil if the task is unknown, or if nothing of the task is left in the cluster.
func (v Views) WatchTask(id string) (now task.View, changed <-chan struct{}) {
	v.model.mu.Lock()
	defer v.model.mu.Unlock()
	item := v.model.tasks[id]
	switch {
	case item == nil:
		return task.View{}, nil
	case item.isCleanedUp():
		return item.view(), nil
	}
	return item.view(), item.changes()
}

// VolumeView returns the view of a volume; for an orphan, the view holds only the claim.
func (v Views) VolumeView(id string) task.VolumeView {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	return v.model.volumes.view(id)
}

// Preview returns the view that a task would have if it were submitted: the claims of its
// volumes, and the volumes that are missing.
func (v Views) Preview(r *task.Record) task.View {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	view := task.View{Record: r}
	view.Resolved, view.Modes = map[string]string{}, map[string][]string{}
	v.model.volumes.resolveAll(&view, volumeNames(r))
	return view
}

// keys implements Views.Keys; the caller holds the lock.
func (m *model) keys() []task.Key {
	keys := m.volumes.keys()
	for id, item := range m.tasks {
		if item.isCleanedUp() {
			continue
		}
		keys = append(keys, task.Key{Kind: task.KindTask, ID: id})
	}
	return keys
}

// isCleanedUp reports whether the task is over and nothing of it is left in the cluster.
func (i *taskItem) isCleanedUp() bool {
	return i.record != nil && i.record.CleanedUp() && len(i.jobs)+len(i.pods) == 0
}
