package cache

import (
	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/task"
)

// k8sEvents holds the newest event about each object, by the UID of the object.
type k8sEvents map[string]*convert.K8sEvent

func (k k8sEvents) put(e *convert.K8sEvent) {
	if old := k[e.UID]; old == nil || !e.At.Before(old.At) {
		k[e.UID] = e
	}
}

func (k k8sEvents) drop(e *convert.K8sEvent) {
	if old := k[e.UID]; old != nil && old.Event == e.Event {
		delete(k, e.UID)
	}
}

// note returns the note of the event about an object, the zero Note if there is none.
func (k k8sEvents) note(uid string) task.Note {
	if e := k[uid]; e != nil {
		return task.Note{Reason: e.Reason, Message: e.Message}
	}
	return task.Note{}
}
