package state

import "k8s-cli/pkg/task"

// Active returns how many tasks of a user are not over.
func (s *State) Active(user string) int { return len(s.active[user]) }

// Submitted reports whether a submission of a user under an idempotency key was
// accepted, and the key is not forgotten.
func (s *State) Submitted(user, key string) bool {
	_, ok := s.keys[idempotency{task.KindTask, user, key}]
	return ok
}
