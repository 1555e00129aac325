package status

import (
	"context"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/usage"
)

// Usage answers with a report about the resources that ended tasks used.
func (v *Viewer) Usage(ctx context.Context, q usage.Query) task.Answer {
	stale := v.stale(ctx)
	return v.answer(encode(v.projection.UsageReport(q)), stale)
}
