package cache

import (
	"slices"

	"k8s-cli/pkg/task"
)

// Answers are encoded views of the tasks and volumes of a user.
type Answers struct {
	model  *guarded
	render Renderer
	cache  *responseCache
}

// TaskAnswer returns the encoded answer for a task of user.
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

// TaskAnswers returns the encoded answers for the tasks that q asks for, newest
// first, and where the next page begins; that is 0 if there is none.
func (a Answers) TaskAnswers(q task.Query) (bodies [][]byte, next uint64) {
	inputs, next := a.renderInputs(q)
	bodies = make([][]byte, len(inputs))
	for i, d := range inputs {
		bodies[i] = a.encode(d)
	}
	return bodies, next
}

// renderInputs returns what these answers are made from.
func (a Answers) renderInputs(q task.Query) (inputs []renderInput, next uint64) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	for item := range a.model.index.matching(q) {
		if q.Limit > 0 && len(inputs) == q.Limit {
			return inputs, next
		}
		inputs, next = append(inputs, a.renderInput(item)), item.record.Order
	}
	return inputs, 0
}

// TaskVersion returns numbers that are others when the answers to q may be.
func (a Answers) TaskVersion(q task.Query) [2]uint64 {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	version := [2]uint64{a.model.index.of(q.User, q.AllUsers).version}
	if b := a.model.admission.queue; q.AllUsers && b.length() > 0 || b.lengthOfUser(q.User) > 0 {
		version[1] = b.revision // by which the places in it are others
	}
	return version
}

// Submission returns in which entry a task of user was submitted; ok is false if
// there is no such task.
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

// PendingMounts returns the ids of the tasks that mean a volume, by its name or by that
// of its claim, and that will mount it: the log does not say so yet.
func (a Answers) PendingMounts(volume string) (ids []string) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	return a.model.volumes.pendingMounts(volume)
}

// Owner returns the user of a task or volume; ok is false if nothing is known of
// it.
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
