package cache

import (
	"slices"

	"k8s-cli/pkg/cache/bodies"
	"k8s-cli/pkg/task"
)

// Answers provides encoded views of the tasks and volumes of a user.
type Answers struct {
	model  *guarded
	render Renderer
	cache  *bodies.Cache
}

// TaskAnswer returns the encoded answer for a task of user; ok is false if there is no such
// task.
func (a Answers) TaskAnswer(user, id string) ([]byte, bool) {
	a.model.mu.RLock()
	item := a.model.tasks[id]
	if !item.isOf(user) {
		a.model.mu.RUnlock()
		return nil, false
	}
	d := a.renderInput(item)
	a.model.mu.RUnlock()
	return a.encode(d), true
}

// Submission returns the entry in which a task of user was submitted; ok is false if there is
// no such task.
func (a Answers) Submission(user, id string) (seq uint64, ok bool) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	item := a.model.tasks[id]
	if !item.isOf(user) {
		return 0, false
	}
	return item.record.Seq(), true
}

// VolumeAnswer returns the encoded answer for a volume of user.
func (a Answers) VolumeAnswer(user, id string) ([]byte, bool) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	item := a.model.volumes.items[id]
	if item == nil || item.view.Deleted || item.view.Create.User != user {
		return nil, false
	}
	return item.body, true
}

// VolumeAnswers is TaskAnswers for volumes.
func (a Answers) VolumeAnswers(q task.Query) (bodies [][]byte, next uint64) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	for _, item := range slices.Backward(a.model.index.of(q.User, q.AllUsers).volumes) {
		switch v := item.view; {
		case v.Deleted, q.Before > 0 && v.Order >= q.Before,
			q.Name != "" && q.Name != v.Create.Volume.Name, q.Phase != "" && string(q.Phase) != v.CurrentPhase():
			continue
		case q.Limit > 0 && len(bodies) == q.Limit:
			return bodies, next
		default:
			bodies, next = append(bodies, item.body), v.Order
		}
	}
	return bodies, 0
}

// PendingMounts returns the ids of the tasks that name a volume, by its name or by the name of
// its claim, and will mount the volume, but are not resolved in the log yet.
func (a Answers) PendingMounts(volume string) (ids []string) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	return a.model.volumes.pendingMounts(volume)
}

// Owner returns the user of a task or volume; ok is false if the task or volume is unknown.
func (a Answers) Owner(k task.Key) (user string, ok bool) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	switch k.Kind {
	case task.KindTask:
		if i := a.model.tasks[k.ID]; i != nil && i.record != nil {
			return i.record.User(), true
		}
	case task.KindVolume:
		if i := a.model.volumes.items[k.ID]; i != nil && i.view.VolumeRecord != nil {
			return i.view.Create.User, true
		}
	}
	return "", false
}
