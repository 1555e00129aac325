package submit

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/trace"
)

// apply creates the Jobs of a task and appends Applied. The log decides whether the task is
// still wanted then: if a stop came first, the fold rejects Applied as stale, and cleanUp
// deletes the Jobs.
func (c *Controller) apply(ctx context.Context, k task.Key, v task.View, seen readPoint) (err error) {
	if len(v.Submit.Task.Volumes) > 0 && v.Claims == nil {
		if len(v.Missing) > 0 {
			return nil // a change of its volumes enqueues the task again
		}
		if why := c.warnNotShareable(v); why != "" {
			return c.append(ctx, task.Command{Rejected: &task.Rejected{Key: k, Reason: task.ReasonUnshared, Message: why}})
		}
		return c.append(ctx, task.Command{Resolved: &task.Resolved{ID: k.ID, Claims: v.Resolved}})
	}
	if c.quota.holdsBack(quotaClaimOf(v, nil), c.waitsForJobs) {
		return c.yieldQuota(ctx, k, v, 0)
	}
	ctx, span := c.traced(ctx, trace.Consumer, "apply task", v)
	defer func() { span.End(err) }()
	uids := make([]string, v.NumNodes())
	for rank, job := range objects.Jobs(v.Record, c.namespace) {
		if rank > 0 {
			if seen, err = c.readBarrier(ctx); err != nil {
				return err
			}
			if now := c.projection.TaskView(k.ID); now.Record == nil || now.Phase.Over() || now.UIDs != nil {
				return nil // that change has enqueued the task again
			}
		}
		if uids[rank], err = c.tracedJob(ctx, v, rank, job, seen); err != nil {
			return c.onJobRejected(ctx, k, v, rank, fmt.Errorf("create job %s: %w", job.Name, err))
		}
	}
	for _, ensure := range []func(context.Context, *task.Record, string, readPoint) error{c.ensureService, c.ensureSecret} {
		if err := ensure(ctx, v.Record, uids[0], seen); err != nil {
			c.quota.release(k)
			return c.reject(ctx, k, v.Reason, err)
		}
	}
	c.counters.applied(k)
	return c.append(ctx, task.Command{Applied: &task.Applied{Key: k, UIDs: uids}})
}

// ensureJob returns the UID of the Job, which is created now or exists. An existing Job of
// this task is a success: a controller may have crashed between creating the Job and appending
// the fact. A Job that may exist is read first, because a quota counts every request to create
// a Job, and corrects its count only minutes later.
func (c *Controller) ensureJob(ctx context.Context, v task.View, rank int, job *batchv1.Job, seen readPoint) (string, error) {
	var live *batchv1.Job
	err := error(apierrors.NewNotFound(batchv1.Resource("jobs"), job.Name))
	if v.Jobs[rank] != nil || v.NumNodes() > 1 && v.Reason != "" {
		live, err = c.jobs.Get(ctx, job.Name, metav1.GetOptions{})
	}
	if apierrors.IsNotFound(err) {
		if live, err = c.createJob(ctx, job, seen); err == nil {
			return string(live.UID), nil
		}
		if apierrors.IsAlreadyExists(err) {
			live, err = c.jobs.Get(ctx, job.Name, metav1.GetOptions{})
		}
	}
	if err == nil {
		err = checkOurs(live, job)
	}
	if err != nil {
		return "", err
	}
	return string(live.UID), nil
}
