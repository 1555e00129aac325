package submit

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/submit/objects"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/trace"
)

// apply creates the Jobs of a task, or of all tasks of a job group, and appends Applied. The log
// decides whether the task is still wanted then: if a stop came first, the fold rejects Applied as
// stale, and cleanUp deletes the Jobs.
func (c *Controller) apply(ctx context.Context, k task.Key, v task.View, seen readPoint) (err error) {
	if v.Submit.JobGroup.Follows() {
		c.awaitFirst(v)
		return nil
	}
	gang := c.gangOf(v)
	ready, err := c.prepare(ctx, gang)
	if len(gang) == 0 || !ready || err != nil {
		return err
	}
	allExisted := slices.ContainsFunc(gang, func(m task.View) bool { return m.UIDs != nil })
	if !allExisted && c.quota.holdsBack(quotaClaimOf(v, nil), c.waitsForJobs) {
		return c.yieldQuota(ctx, gang, 0)
	}
	ctx, span := c.traced(ctx, trace.Consumer, "apply task", v)
	defer func() { span.End(err) }()
	uids, err := c.createJobs(ctx, gang, seen)
	if uids == nil || err != nil {
		return err
	}
	for i, m := range gang {
		if m.UIDs != nil { // by a controller that did not come to the first task
			continue
		}
		for _, ensure := range []func(context.Context, *task.Record, string, readPoint) error{c.ensureService, c.ensureSecret} {
			if v.JobsToAdmit() > 1 { // the creations before took time
				if seen, err = c.readBarrier(ctx); err != nil {
					return err
				}
			}
			if err := ensure(ctx, m.Record, uids[i][0], seen); err != nil {
				c.quota.release(k)
				return c.reject(ctx, keyOf(m), m.Reason, err)
			}
		}
	}
	for i, m := range slices.Backward(gang) { // the first task last, see gangOf
		if m.UIDs != nil {
			continue
		}
		c.counters.applied(keyOf(m))
		if err := c.append(ctx, task.Command{Applied: &task.Applied{Key: keyOf(m), UIDs: uids[i]}}); err != nil {
			return err
		}
	}
	return nil
}

// createJobs creates the Jobs of tasks and returns their UIDs by task and rank. createJobs returns
// nil if the tasks have changed meanwhile: that change has enqueued the first task again.
func (c *Controller) createJobs(ctx context.Context, gang []task.View, seen readPoint) (uids [][]string, err error) {
	first, count := keyOf(gang[0]), 0
	for _, v := range gang {
		if v.UIDs != nil { // by a controller that did not come to the first task
			uids = append(uids, v.UIDs)
			continue
		}
		of := make([]string, v.NumNodes())
		for rank, job := range objects.Jobs(v.Record, c.namespace) {
			if count > 0 {
				if seen, err = c.readBarrier(ctx); err != nil {
					return nil, err
				}
				if !c.waitsForJobs(first) {
					return nil, nil
				}
			}
			if of[rank], err = c.tracedJob(ctx, v, rank, job, seen); err != nil {
				return nil, c.onJobRejected(ctx, gang, v, count, fmt.Errorf("create job %s: %w", job.Name, err))
			}
			count++
		}
		uids = append(uids, of)
	}
	return uids, nil
}

// ensureJob returns the UID of the Job, which is created now or exists. An existing Job of
// this task is a success: a controller may have crashed between creating the Job and appending
// the fact. A Job that may exist is read first, because a quota counts every request to create
// a Job, and corrects its count only minutes later.
func (c *Controller) ensureJob(ctx context.Context, v task.View, rank int, job *batchv1.Job, seen readPoint) (string, error) {
	var live *batchv1.Job
	err := error(apierrors.NewNotFound(batchv1.Resource("jobs"), job.Name))
	if v.Jobs[rank] != nil || v.Gang() && v.Reason != "" {
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
