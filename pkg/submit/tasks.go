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
)

// A Job just created may not have reached the informers yet, and a pod's last
// status may come after its Job's: so long is waited for them.
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
	if err := c.publishPeerAddresses(ctx, v); err != nil {
		return 0, c.failResume(ctx, k, err)
	}
	return c.report(ctx, k, v)
}

// resume lets the Jobs of several nodes run, once all of them are seen. Each is
// resumed once: whoever suspends it again, a queue for example, means it. A
// single one was not suspended by us.
func (c *Controller) resume(ctx context.Context, v task.View) error {
	if v.NumNodes() == 1 || slices.Contains(v.Jobs, nil) {
		return nil
	}
	for _, job := range v.Jobs {
		if !job.Suspended || job.Resumed || job.Deleting || job.Phase.Over() {
			continue
		}
		err := c.resumeJob(ctx, job.Name, job.UID)
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return fmt.Errorf("resume job %s: %w", job.Name, err)
		}
	}
	return nil
}

// failResume ends a task whose nodes the API server will never let run, or know
// of each other.
func (c *Controller) failResume(ctx context.Context, k task.Key, cause error) error {
	reason, forGood := classify(cause)
	if !forGood {
		return cause
	}
	return c.append(ctx, task.Command{Ended: &task.Ended{ID: k.ID, Phase: task.Failed, Reason: reason, Message: cause.Error()}})
}

// report appends that a task has started or ended.
func (c *Controller) report(ctx context.Context, k task.Key, v task.View) (time.Duration, error) {
	lost, again, err := c.missingJobs(ctx, k, v)
	if err != nil {
		return 0, err
	}
	if end := v.Outcome(lost); end != nil {
		if wait := c.podGrace(v); wait > 0 {
			return wait, nil
		}
		c.addOutputs(ctx, end)
		return 0, c.append(ctx, task.Command{Ended: end})
	}
	if v.Phase == task.Pending && v.CurrentPhase() == task.Running {
		return again, c.append(ctx, task.Command{Started: &task.Started{ID: k.ID, Nodes: v.NodeList()}})
	}
	return again, nil
}

// missingJobs returns the ranks whose Jobs the cluster does not have any more. Only
// its live answer counts: the informers may lag behind our own create.
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

// podGrace returns how long to wait for the last status of a pod whose Job has
// come to its end, which says with what exit code.
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

// cleanUp removes what a task that is over still has in the cluster: at once
// if it was stopped or refused, or if its finished pods would keep a deleted
// volume from going; at once too what still runs after another node failed; the
// rest when Jobs have been kept for long enough, or the history has no more room,
// and the logs are archived.
func (c *Controller) cleanUp(ctx context.Context, k task.Key, v task.View) (time.Duration, error) {
	retained := v.UIDs != nil && v.Phase != task.Stopped && !v.Released && !c.earlyEvictions.has(k)
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
	c.releaseQuota()
	c.archiveWaits.drop(k)
	return 0, nil
}

// deleteSiblings deletes the Jobs that still run of a task that is over, since
// another node failed. Only the cluster's live answer counts: the informers may
// lag behind those of the controller that saw the end.
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
			c.deletions.accepted(job.Name, job.UID, job) // until the informers show it too
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

// deleteLateJobs deletes the Jobs that are seen of a task of which nothing was left: a
// controller that was paused has created them since.
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

// removeJob deletes the Job of one node; gone means that the cluster said live
// that it has none of this task, or that the one deleted was seen to go.
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
		return true, nil // it never had one
	}
	live, err := c.jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("get job %s: %w", name, err)
	case !v.Owns(live.Annotations[task.AnnotationUser], live.Annotations[task.AnnotationSubmission]):
		return true, nil // somebody else's of that name
	}
	return c.deleteJobOnce(ctx, name, string(live.UID), nil)
}

// deleteJobOnce deletes a Job and its pods, of which the informers show shown; gone
// means that there is none of this UID any more.
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
