package submit

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
)

// A quota of Jobs may admit some Jobs of a task and reject the others. Two such tasks would wait
// for each other forever, so only one task at a time retains an incomplete set of Jobs: the first
// in the order of claims. Every other task deletes its Jobs, which are all still suspended, and
// starts later.

const (
	reasonQuota = "QuotaExceeded"

	messageHeldBack = "exceeded quota: an earlier task of several nodes gets the next free places"
	messageYielded  = "exceeded quota: the quota had no room for all Jobs of the task, so those that existed were deleted before any of them ran; " +
		"an earlier task gets the free places, and this one starts later"
)

// errYielded means that a task waits until an earlier task has all of its Jobs.
var errYielded = errors.New("an earlier task gets the free capacity of the quota")

// A quotaClaim is the claim of a task to places that a quota rejected.
type quotaClaim struct {
	key   task.Key
	user  string
	nodes int
	limit int64     // Jobs that the quota allows; 0 if unknown
	turn  task.Turn // among the tasks of the user
	order uint64    // among the tasks of all users: of the submission, or of an earlier task of the user that the claim has displaced
}

func quotaClaimOf(v task.View, cause error) quotaClaim {
	return quotaClaim{
		key: keyOf(v), user: v.Submit.User, nodes: v.JobsToAdmit(), limit: jobLimit(cause),
		turn: task.Turn{Priority: v.Submit.Resources().Priority, Order: v.Order}, order: v.Order,
	}
}

// tooLarge reports whether the quota can never admit all Jobs of the task.
func (c quotaClaim) tooLarge() bool { return c.limit > 0 && int64(c.nodes) > c.limit }

// before reports whether c goes before d: tasks that fit into the quota come first, then the
// order of submission counts, and among the tasks of one user their priority.
func (c quotaClaim) before(d quotaClaim) bool {
	switch {
	case c.tooLarge() != d.tooLarge():
		return d.tooLarge()
	case c.user == d.user:
		return c.turn.Compare(d.turn) < 0
	}
	return c.order < d.order
}

// A reservation holds the first of all known claims. The reservation belongs to one leader:
// after a takeover the tasks claim again.
type reservation struct {
	mu    sync.Mutex
	first quotaClaim // has the zero key if there is no claim
}

// request makes c the first claim unless a task that still waits goes before c. displaced is
// the task whose claim c has replaced, if any.
func (r *reservation) request(c quotaClaim, waits func(task.Key) bool) (first bool, displaced task.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.user == c.user { // the tasks of the user change their places among themselves
		c.order = min(c.order, r.first.order)
	}
	held := r.first.key != task.Key{} && r.first.key != c.key && waits(r.first.key)
	if held && r.first.before(c) {
		return false, task.Key{}
	}
	if held {
		displaced = r.first.key
	}
	r.first = c
	return true, displaced
}

// holdsBack reports whether c must wait for the first claim without a request to the API
// server. Only a task with several nodes that fits into a known quota holds others back: such
// a task can use every place that becomes free, and will be complete.
func (r *reservation) holdsBack(c quotaClaim, waits func(task.Key) bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.first
	return f.key != task.Key{} && f.key != c.key && f.nodes > 1 && f.limit > 0 && !f.tooLarge() && f.before(c) && waits(f.key)
}

// holder returns the task of the first claim or the zero key.
func (r *reservation) holder() task.Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first.key
}

// release removes the claim of a task that no longer waits for a quota of Jobs.
func (r *reservation) release(k task.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first.key == k {
		r.first = quotaClaim{}
	}
}

// waitsForJobs reports whether the Jobs of a task are not all created yet.
func (c *Controller) waitsForJobs(k task.Key) bool {
	v := c.store.TaskView(k.ID)
	return v.Record != nil && !v.Phase.Over() && v.UIDs == nil
}

// releaseQuota enqueues the task of the first claim after a Job was deleted.
func (c *Controller) releaseQuota() {
	if k := c.quota.holder(); k != (task.Key{}) {
		c.Enqueue(k)
	}
}

// onJobRejected handles the error from creating a Job of v, after count Jobs of the gang.
func (c *Controller) onJobRejected(ctx context.Context, gang []task.View, v task.View, count int, cause error) error {
	first := gang[0]
	if reason, _ := classify(cause); reason != reasonQuota {
		c.quota.release(keyOf(first))
		return c.reject(ctx, keyOf(v), v.Reason, cause)
	}
	goesFirst, displaced := c.quota.request(quotaClaimOf(first, cause), c.waitsForJobs)
	if displaced != (task.Key{}) {
		c.Enqueue(displaced)
	}
	if !goesFirst && first.JobsToAdmit() > 1 {
		return c.yieldQuota(ctx, gang, count)
	}
	c.evict(c.store.OldestFinished(first.JobsToAdmit() - count)) // a quota of Jobs counts finished Jobs too
	before := first.Reason
	if first.Message == messageHeldBack || first.Message == messageYielded { // that message no longer applies
		before = ""
	}
	return c.reject(ctx, keyOf(first), before, cause)
}

// yieldQuota deletes the Jobs of the tasks of a gang, which wait for an earlier task: the first
// created Jobs, and the Jobs that the informers show. yieldQuota returns errYielded.
func (c *Controller) yieldQuota(ctx context.Context, gang []task.View, created int) error {
	deleted := false
	for _, v := range gang {
		for rank := range v.NumNodes() {
			if created--; created < 0 && v.Jobs[rank] == nil {
				continue
			}
			one, err := c.yieldRank(ctx, keyOf(v), rank)
			if err != nil {
				return err
			}
			deleted = deleted || one
		}
	}
	message, first := messageHeldBack, gang[0]
	if deleted {
		message = messageYielded
	}
	if first.Reason != reasonQuota || deleted && first.Message != message {
		if err := c.append(ctx, task.Command{Blocked: &task.Blocked{Key: keyOf(first), Reason: reasonQuota, Message: message}}); err != nil {
			return errors.Join(errYielded, fmt.Errorf("record the reason: %w", err))
		}
	}
	if deleted {
		c.releaseQuota()
	}
	return errYielded
}

// yieldRank deletes the Job of one node if the Job never ran. Unlike a stop, the decision is
// not final, so its read point must be fresh, as for the creation of a Job.
func (c *Controller) yieldRank(ctx context.Context, k task.Key, rank int) (deleted bool, err error) {
	seen, err := c.readBarrier(ctx)
	if err != nil || !c.waitsForJobs(k) {
		return false, err
	}
	v := c.store.TaskView(k.ID)
	name := v.JobNames()[rank]
	live, err := c.jobs.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get job %s: %w", name, err)
	case !v.Owns(live.Annotations[task.AnnotationUser], live.Annotations[task.AnnotationSubmission]), live.DeletionTimestamp != nil, !neverRan(live):
		return false, nil
	}
	err = c.deleteIdleJob(ctx, live, seen)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("delete job %s: %w", name, err)
	}
	return true, nil
}

// neverRan reports whether a Job was created suspended and never resumed.
func neverRan(job *batchv1.Job) bool {
	return job.Spec.Suspend != nil && *job.Spec.Suspend && job.Status.StartTime == nil && job.Annotations[task.AnnotationResumed] == ""
}

var limitOfJobs = regexp.MustCompile(`, limited: (?:[^ ]*,)?count/jobs\.batch=([^, ]+)`)

// jobLimit returns the number of Jobs that the quota in the error cause allows, 0 if the error
// does not contain the number.
func jobLimit(cause error) int64 {
	if cause == nil {
		return 0
	}
	found := limitOfJobs.FindStringSubmatch(cause.Error())
	if found == nil {
		return 0
	}
	limit, err := resource.ParseQuantity(found[1])
	if err != nil {
		return 0
	}
	return limit.Value()
}
