package state

import "k8s-cli/pkg/task"

// Active returns the number of tasks of a user that are not over.
func (s *State) Active(user string) int { return len(s.active[user]) }

// Submitted reports whether a submission of a user under an idempotency key was accepted and
// the key has not expired.
func (s *State) Submitted(user, key string) bool {
	_, ok := s.keys[idempotency{task.KindTask, user, key}]
	return ok
}
