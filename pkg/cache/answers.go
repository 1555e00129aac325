package cache

import (
	"slices"

	"k8s-cli/pkg/task"
)

// Answers provides what users see of their tasks and volumes. The caller encodes it.
type Answers struct {
	model *guarded
}

// An Answer is one task, as users see it.
type Answer struct {
	ID      string
	Version uint64     // of the store at the last change of the task
	Encoded []byte     // from Encoded; nil if the caller has to encode View
	View    *task.View // nil if the caller has the encoded answer for Version

	// Position is the place of the task in the backlog, from 1; 0 if the task is not in the backlog.
	// The position changes with every other task in the backlog, and Version does not.
	Position int
	Reason   string // why the task is in the backlog
	Message  string // position and waiting time as a sentence
}

// An Encoded function returns the encoded answer that the caller of a list has for one version of a
// task, nil if it has none. The store is locked during the call.
type Encoded func(id string, version uint64) []byte

// answer returns the answer for a task without its view.
func (a Answers) answer(i *taskItem) Answer {
	d := Answer{ID: i.id, Version: i.version}
	if (i.stage == stageWaiting || i.stage == stageCreating) && len(i.jobs) == 0 { // a task with Jobs waits no longer
		d.Position = a.model.admission.queue.position(i)
		d.Reason, d.Message = a.model.admission.whyWaiting(i, d.Position)
	}
	return d
}

// TaskAnswer returns the answer for a task of user; ok is false if there is no such task. The answer
// has no view if its version is known, that is the version of the encoded answer that the caller has.
// A task in the backlog always has a view.
func (a Answers) TaskAnswer(user, id string, known uint64) (d Answer, ok bool) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	item := a.model.tasks[id]
	if !item.isOf(user) {
		return Answer{}, false
	}
	d = a.answer(item)
	if d.Version != known || d.Position > 0 {
		d.View = new(item.view())
	}
	return d, true
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

// VolumeAnswer returns a volume of user; ok is false if there is no such volume.
func (a Answers) VolumeAnswer(user, id string) (v task.VolumeView, ok bool) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	item := a.model.volumes.items[id]
	if item == nil || item.view.Deleted || item.view.Create.User != user {
		return task.VolumeView{}, false
	}
	return item.view, true
}

// VolumeAnswers returns the volumes on a page of a list, newest first. next is the cursor of the next
// page or 0.
func (a Answers) VolumeAnswers(q task.Query) (views []task.VolumeView, next uint64) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	for _, item := range slices.Backward(a.model.index.of(q.User, q.AllUsers).volumes) {
		switch v := item.view; {
		case v.Deleted, q.Before > 0 && v.Order >= q.Before,
			q.Name != "" && q.Name != v.Create.Volume.Name, q.Phase != "" && string(q.Phase) != v.CurrentPhase():
			continue
		case q.Limit > 0 && len(views) == q.Limit:
			return views, next
		default:
			views, next = append(views, v), v.Order
		}
	}
	return views, 0
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
