package explain

import (
	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/task"
)

// Events holds the newest event about each object, by the UID of the object.
type Events map[string]*convert.K8sEvent

// Add adds an event, unless a newer one about the same object is known.
func (k Events) Add(e *convert.K8sEvent) {
	if old := k[e.UID]; old == nil || !e.At.Before(old.At) {
		k[e.UID] = e
	}
}

// Drop removes an event.
func (k Events) Drop(e *convert.K8sEvent) {
	if old := k[e.UID]; old != nil && old.Event == e.Event {
		delete(k, e.UID)
	}
}

// Note returns the note of the event about an object or the zero Note.
func (k Events) Note(uid string) task.Note {
	if e := k[uid]; e != nil {
		return task.Note{Reason: e.Reason, Message: e.Message}
	}
	return task.Note{}
}
