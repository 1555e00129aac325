package status

import (
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/usage"
)

// Group answers for one group of user. The error is of kind problem.NotFound if the user has no
// such group.
func (r Read) Group(user, name string) (task.Answer, error) {
	g, ok := r.Store.Group(user, name)
	if !ok {
		return task.Answer{Stale: r.Stale}, group.NotFound(name)
	}
	return r.answer(encode(g)), nil
}

// Usage answers with a report about the resources that ended tasks used.
func (r Read) Usage(q usage.Query) task.Answer {
	return r.answer(encode(r.Store.UsageReport(q)))
}

// Groups answers with a list of groups, newest first.
func (r Read) Groups(q task.Query) task.Answer {
	all, next := r.Store.Groups(q)
	a := r.answer(encode(group.List{Groups: append([]group.Group{}, all...)}))
	a.Next = cursor(next)
	return a
}
