package submit

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/trace"
)

// traced starts a span for work on a task whose submission is traced. The parent is the span
// of the submission, or the span of ctx for a client span.
func (c *Controller) traced(ctx context.Context, kind trace.Kind, name string, v task.View) (context.Context, *trace.Span) {
	if v.Submit.Trace == "" {
		return ctx, nil
	}
	parent := v.Submit.Trace
	if kind == trace.Client {
		parent = ""
	}
	ctx, span := c.config.Tracer.Start(ctx, kind, name, parent)
	span.SetString("k8s_cli.task", v.Submit.ID)
	return ctx, span
}

// tracedJob is ensureJob in a span.
func (c *Controller) tracedJob(ctx context.Context, v task.View, rank int, job *batchv1.Job, seen readPoint) (string, error) {
	ctx, span := c.traced(ctx, trace.Client, "create job", v)
	span.SetString("k8s.job.name", job.Name)
	uid, err := c.ensureJob(ctx, v, rank, job, seen)
	span.End(err)
	return uid, err
}
