package status

import (
	"context"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/usage"
)

// Group answers for one group of user. The error is of kind problem.NotFound if the user has no
// such group.
func (v *Viewer) Group(ctx context.Context, user, name string) (task.Answer, error) {
	stale := v.stale(ctx)
	g, ok := v.projection.Group(user, name)
	if !ok {
		return task.Answer{Stale: stale}, group.NotFound(name)
	}
	return v.answer(encode(g), stale), nil
}

// Usage answers with a report about the resources that ended tasks used.
func (v *Viewer) Usage(ctx context.Context, q usage.Query) task.Answer {
	stale := v.stale(ctx)
	return v.answer(encode(v.projection.UsageReport(q)), stale)
}

// Groups answers with a list of groups, newest first.
func (v *Viewer) Groups(ctx context.Context, q task.Query) task.Answer {
	stale := v.stale(ctx)
	all, next := v.projection.Groups(q)
	a := v.answer(encode(group.List{Groups: append([]group.Group{}, all...)}), stale)
	a.Next = cursor(next)
	return a
}
