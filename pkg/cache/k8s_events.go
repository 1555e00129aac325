package cache

import (
	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/task"
)

// k8sEvents are the newest events, by the UID of the object that each is about.
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

// note returns what the event about an object says, the zero Note if there is none.
func (k k8sEvents) note(uid string) task.Note {
	if e := k[uid]; e != nil {
		return task.Note{Reason: e.Reason, Message: e.Message}
	}
	return task.Note{}
}
