package submit

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
)

// informerGrace is how long the controller waits for the informers: they may not show a new
// Job yet, and the last status of a pod may arrive after the status of its Job.
const informerGrace = 2 * time.Second

func (c *Controller) reconcileTask(ctx context.Context, k task.Key, v task.View, seen readPoint) (time.Duration, error) {
	switch {
	case v.Record == nil:
		return 0, c.adopt(ctx, v, seen)
	case v.CleanedUp:
		return 0, c.deleteLateJobs(ctx, v)
	case v.Phase.Over():
		return c.cleanUp(ctx, k, v)
	case !v.Admitted:
		return 0, c.rejectTooLarge(ctx, k, v)
	case v.UIDs == nil:
		return 0, c.apply(ctx, k, v, seen)
	}
	if err := c.resume(ctx, v); err != nil {
		return 0, c.failResume(ctx, k, err)
	}
	shown, err := c.publishAddresses(ctx, v)
	if err != nil {
		return 0, c.failResume(ctx, k, err)
	}
	complete, err := c.endIncomplete(ctx, v)
	if err != nil {
		return 0, err
	}
	again, err := c.report(ctx, k, v)
	return sooner(again, sooner(shown, complete)), err
}

// failResume ends a task if the API server permanently rejects resuming its Jobs or publishing
// its addresses.
func (c *Controller) failResume(ctx context.Context, k task.Key, cause error) error {
	reason, forGood := classify(cause)
	if !forGood {
		return cause
	}
	return c.append(ctx, task.Command{Ended: &task.Ended{ID: k.ID, Phase: task.Failed, Reason: reason, Message: cause.Error()}})
}

// maxAttemptsPerFact bounds the attempts in one fact, because the size of an entry is limited.
const maxAttemptsPerFact = 64

// report appends that a task has started or ended, or that its nodes start again, and ends a
// task at its deadline.
func (c *Controller) report(ctx context.Context, k task.Key, v task.View) (time.Duration, error) {
	lost, again, err := c.missingJobs(ctx, k, v)
	if err != nil {
		return 0, err
	}
	if done, err := c.reportRestarts(ctx, k, v); done || err != nil {
		return 0, err
	}
	if end := v.Outcome(lost); end != nil {
		if wait := c.podGrace(v); wait > 0 {
			return wait, nil
		}
		c.addLastLines(ctx, end)
		c.store.Samples.AddMax(end)
		return 0, c.append(ctx, task.Command{Ended: end})
	}
	if v.Phase == task.Pending && v.CurrentPhase() == task.Running {
		return again, c.append(ctx, task.Command{Started: &task.Started{ID: k.ID, Nodes: v.NodeList()}})
	}
	ends, err := c.endAuxiliary(ctx, v)
	if err != nil {
		return 0, err
	}
	left, err := c.enforceDeadline(ctx, v)
	return sooner(again, sooner(ends, left)), err
}

// reportRestarts appends the attempts that ended and after which their nodes start again. done
// means that the record changed: the change enqueues the task again.
func (c *Controller) reportRestarts(ctx context.Context, k task.Key, v task.View) (done bool, err error) {
	ended := attempt.Ended(v, maxAttemptsPerFact)
	if len(ended) == 0 {
		return false, nil
	}
	c.addAttemptLastLines(ctx, ended)
	result, err := c.log.Append(ctx, task.Command{Restarted: &task.Restarted{ID: k.ID, Attempts: ended}})
	return result.Rejection == "", err
}

// missingJobs returns the ranks whose Jobs no longer exist. missingJobs reads from the API
// server, because the informers may lag behind the creation of a Job.
func (c *Controller) missingJobs(ctx context.Context, k task.Key, v task.View) (ranks []int, again time.Duration, err error) {
	for rank, job := range v.Jobs {
		if job != nil {
			continue
		}
		if wait := c.waits.remaining(k.String(), v.UpdatedAt, informerGrace); wait > 0 {
			return nil, wait, nil
		}
		name := v.JobNames()[rank]
		live, err := c.jobs.Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && string(live.UID) != v.UIDs[rank]:
			ranks = append(ranks, rank)
		case err != nil:
			return nil, 0, fmt.Errorf("get job %s: %w", name, err)
		default:
			again = informerGrace
		}
	}
	return ranks, again, nil
}

// podGrace returns how long to wait for the last status of a pod whose Job has ended; the exit
// code is in that status.
func (c *Controller) podGrace(v task.View) time.Duration {
	for rank, job := range v.Jobs {
		pod := v.Pods[rank]
		if job != nil && job.Phase.Over() && pod != nil && !pod.Phase.Over() {
			if wait := c.waits.remaining(job.Name, job.FinishedAt, informerGrace); wait > 0 {
				return wait
			}
		}
	}
	return 0
}

// cleanUp removes the objects of a task that is over. The Jobs are deleted at once if the task
// was stopped or rejected, if it ended with the primary tasks of its job group, or if its finished pods would block the deletion of a volume. Jobs
// that still run after another node failed are deleted at once too. Other Jobs are deleted
// when KeepJobs has passed or the task exceeds the history, and its logs are archived.
func (c *Controller) cleanUp(ctx context.Context, k task.Key, v task.View) (time.Duration, error) {
	retained := v.UIDs != nil && v.Phase != task.Stopped && v.Reason != task.ReasonPrimariesDone && !v.Released && !c.earlyEvictions.has(k)
	if wait := c.waits.remaining(k.String(), v.UpdatedAt, c.config.KeepJobs); retained && wait > 0 {
		return wait, c.deleteSiblings(ctx, v)
	}
	if wait := c.awaitArchive(k, v); wait > 0 {
		return wait, c.deleteSiblings(ctx, v)
	}
	left := false
	for rank, name := range v.JobNames() {
		gone, err := c.removeJob(ctx, v, rank, name)
		if err != nil {
			return 0, err
		}
		left = left || !gone
	}
	if left {
		return firstRetry, errDeletionPending
	}
	if err := c.append(ctx, task.Command{CleanedUp: &task.CleanedUp{Key: k}}); err != nil {
		return 0, err
	}
	c.earlyEvictions.drop(k)
	c.waits.drop(k, v.JobNames())
	c.runs.drop(runOf(v), delayOf(v))
	c.releaseQuota()
	c.archiveWaits.drop(k)
	return 0, nil
}

// deleteSiblings deletes the running Jobs of a task that is over because another node failed.
// deleteSiblings reads from the API server, because the informers may lag behind those of the
// controller that saw the task end.
func (c *Controller) deleteSiblings(ctx context.Context, v task.View) error {
	for _, job := range v.Jobs {
		if job == nil || job.Deleting || job.Phase.Over() {
			continue
		}
		if gone, pending := c.deletions.state(job.Name, job); gone || pending {
			continue
		}
		live, err := c.jobs.Get(ctx, job.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err) || err == nil && (string(live.UID) != job.UID || isFinished(live)):
			c.deletions.accepted(job.Name, job.UID, job) // until the informers show the same
			continue
		case err != nil:
			return fmt.Errorf("get job %s: %w", job.Name, err)
		}
		if _, err := c.deleteJobOnce(ctx, job.Name, job.UID, job); err != nil {
			return err
		}
	}
	return nil
}

func isFinished(job *batchv1.Job) bool {
	return slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed)
	})
}

// deleteLateJobs deletes the Jobs that appear after a task was cleaned up: a paused controller
// has created them late.
func (c *Controller) deleteLateJobs(ctx context.Context, v task.View) error {
	for _, job := range v.Jobs {
		if job == nil || job.Deleting {
			continue
		}
		if _, err := c.deleteJobOnce(ctx, job.Name, job.UID, job); err != nil {
			return err
		}
	}
	return nil
}

// removeJob deletes the Job of one node. gone means that the API server has no such Job of
// this task, or that the deleted Job was seen to disappear.
func (c *Controller) removeJob(ctx context.Context, v task.View, rank int, name string) (gone bool, err error) {
	shown := v.Jobs[rank]
	gone, pending := c.deletions.state(name, shown)
	switch {
	case gone, pending:
		return gone, nil
	case v.UIDs != nil:
		return c.deleteJobOnce(ctx, name, v.UIDs[rank], shown)
	case shown != nil:
		return c.deleteJobOnce(ctx, name, shown.UID, shown)
	case !v.Admitted:
		return true, nil // the task never had a Job
	}
	live, err := c.jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("get job %s: %w", name, err)
	case !v.Owns(live.Annotations[task.AnnotationUser], live.Annotations[task.AnnotationSubmission]):
		return true, nil // the Job belongs to someone else
	}
	return c.deleteJobOnce(ctx, name, string(live.UID), nil)
}

// deleteJobOnce deletes a Job and its pods; shown is the Job in the informers. gone means that
// no Job of this UID exists.
func (c *Controller) deleteJobOnce(ctx context.Context, name, uid string, shown *task.Job) (gone bool, err error) {
	err = c.deleteJob(ctx, name, uid)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		c.deletions.drop(name)
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete job %s: %w", name, err)
	}
	c.deletions.accepted(name, uid, shown)
	return false, nil
}
