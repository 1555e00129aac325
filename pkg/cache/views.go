package cache

import (
	"k8s-cli/pkg/task"
)

// Views are what is known of tasks and volumes, whoever owns them.
type Views struct{ model *guarded }

// Keys returns all objects that something may be left to do for, those of the
// cluster that have no record included. Of those of the history whose objects are
// gone nothing is left: a watch tells if one comes late.
func (v Views) Keys() []task.Key {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	return v.model.keys()
}

// TaskView returns what is known of a task.
func (v Views) TaskView(id string) task.View {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	if v.model.tasks[id] == nil {
		return task.View{}
	}
	return v.model.tasks[id].view()
}

// WatchTask returns what is known of a task, and a channel that is closed when
// that changes; it is nil for a task that nothing is known of.
func (v Views) WatchTask(id string) (now task.View, changed <-chan struct{}) {
	v.model.mu.Lock()
	defer v.model.mu.Unlock()
	item := v.model.tasks[id]
	if item == nil {
		return task.View{}, nil
	}
	return item.view(), item.changes()
}

// VolumeView returns what is known of a volume; of a claim that has no record, the
// claim.
func (v Views) VolumeView(id string) task.VolumeView {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	return v.model.volumes.view(id)
}

// Preview returns a task that nobody submitted as it would be seen: which claims
// are there for its volumes, and which are missing.
func (v Views) Preview(r *task.Record) task.View {
	v.model.mu.RLock()
	defer v.model.mu.RUnlock()
	view := task.View{Record: r}
	view.Resolved, view.Modes = map[string]string{}, map[string][]string{}
	v.model.volumes.resolveAll(&view, volumeNames(r))
	return view
}

// keys: see Views.Keys.
func (m *model) keys() []task.Key {
	keys := m.volumes.keys()
	for id, item := range m.tasks {
		if item.record != nil && item.record.CleanedUp() && len(item.jobs)+len(item.pods) == 0 {
			continue
		}
		keys = append(keys, task.Key{Kind: task.KindTask, ID: id})
	}
	return keys
}
