package cache

import (
	"k8s-cli/pkg/cache/groups"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
)

// Group returns the state of a group of a user; ok is false if the user has no such group.
func (a Answers) Group(user, name string) (g group.Group, ok bool) {
	a.model.mu.RLock()
	defer a.model.mu.RUnlock()
	found := a.model.index.groups.Of(user, name)
	if found == nil {
		return g, false
	}
	return found.Describe(), true
}

// Groups returns the groups that a query selects, newest first, and the cursor of the next page or
// 0.
func (a Answers) Groups(q task.Query) (all []group.Group, next uint64) {
	s := groups.Selection{Query: q}
	for more := true; more; {
		a.model.mu.RLock()
		more = a.model.index.groups.Select(&s)
		a.model.mu.RUnlock()
	}
	return s.Groups, s.Next
}
