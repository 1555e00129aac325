package state

import "k8s-cli/pkg/task"

// An idempotency key belongs to one user and to one kind of object.
type idempotency struct {
	kind      task.Kind
	user, key string
}

// first is what a key was used for first.
type first struct {
	id   string
	body string // names what was asked for
}

// repeated returns the verdict on a command whose key was used before: the first
// one's id if it asks for the same, whoever was first by the order of the log. A
// new key is noted for id. asked names what is asked for.
func (s *State) repeated(k idempotency, id string, asked func() string) (verdict task.Verdict, repeated bool) {
	if k.key == "" {
		return task.Verdict{}, false
	}
	body := asked()
	before, used := s.keys[k]
	switch {
	case !used:
		s.keys[k] = first{id, body}
		return task.Verdict{}, false
	case before.body != body:
		return task.Verdict{ID: before.id, Refusal: task.RefusedReused}, true
	}
	return task.Verdict{ID: before.id}, true
}
