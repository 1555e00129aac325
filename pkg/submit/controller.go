// Package submit brings the cluster to what the log says: it creates the Jobs
// and claims that are wanted, removes those that are not, and appends what came
// of it. It is level-triggered: reconciling an object reads the store, never
// a message, so doing it twice or late is doing it once.
package submit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
	batchclient "k8s.io/client-go/kubernetes/typed/batch/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/util/workqueue"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/trace"
)

// A Projection is the parts of the store that say what is wanted and what there is.
// They answer from memory.
type Projection struct {
	Objects
	Backlog
	History
}

// Objects are what is known of tasks and volumes.
type Objects interface {
	TaskView(id string) task.View
	VolumeView(id string) task.VolumeView
	Keys() []task.Key // what something may be left to do for
}

// A Backlog says which tasks are next to get Jobs.
type Backlog interface {
	AwaitsAdmission(id string) bool
	Admission(window int) task.Admission
	FirstAdmission(window int) task.Admission
	BacklogChanged() <-chan struct{}
	OldestFinished(jobs int) []task.Key
	Limits() task.AdmissionLimits
}

// A History says what it has no room for.
type History interface {
	Expired(now time.Time, length time.Duration, most, limit int) (f task.ExpireHistory, retained []task.Key)
}

// A Log takes facts and knows where it ends.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)
	// WaitReadIndex waits until the store holds all that was stored before the call;
	// ok is false if that is not to be had at present.
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
}

// Config holds the settings that have a sensible zero.
type Config struct {
	Workers  int                 // objects reconciled at once, at most; 0 means 64
	Limiter  *ConcurrencyLimiter // how many really are, which the client of Kubernetes has to keep too; nil means a new one
	MaxWait  time.Duration       // longest pause between two attempts; 0 means 30s
	KeepJobs time.Duration       // how long a finished Job stays, if its task does; 0 means an hour
	History  time.Duration       // how long a task that is over stays answerable; 0 means a week
	Tasks    int                 // how many such tasks stay at most; 0 means 200,000
	Logger   *slog.Logger        // nil means silence
	Trace    *trace.Tracer       // of submissions that are traced; nil if nobody wants to know

	AdoptLegacy bool // also what only labels say whose it is; see task.LegacySubmit

	// Hosts returns how many nodes of the cluster take any pod; known is false while that
	// cannot be told. nil means that it never can.
	Hosts func() (count int, known bool)

	// Secrets returns the values of a task's secrets that its submission has
	// sealed; nil means that it cannot be done here.
	Secrets func(task.Submit) (map[string]string, error)

	// Archived reports whether deleting the Jobs of a finished task loses no part of
	// its logs. When that changes, Changed is to be called. nil means that no logs
	// are archived.
	Archived func(id string) bool

	// Token returns what the pods of a task get its uploads by; nil means that it
	// cannot be done here.
	Token func(id string) string
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 64)
	c.Limiter = cmp.Or(c.Limiter, NewConcurrencyLimiter())
	c.MaxWait = cmp.Or(c.MaxWait, 30*time.Second)
	c.KeepJobs = cmp.Or(c.KeepJobs, time.Hour)
	c.History = cmp.Or(c.History, 7*24*time.Hour)
	c.Tasks = cmp.Or(c.Tasks, 200_000)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

const (
	firstWait    = 5 * time.Millisecond   // pause before the second attempt; it doubles from there
	barrierRetry = 100 * time.Millisecond // of a worker while the log's end is unknown
)

// A Controller reconciles while its Run does.
type Controller struct {
	jobs           batchclient.JobInterface // changed in mutations.go only
	claims         coreclient.PersistentVolumeClaimInterface
	services       coreclient.ServiceInterface
	secrets        coreclient.SecretInterface
	pods           coreclient.PodInterface
	namespace      string
	projection     Projection
	log            Log
	config         Config
	counters       counters
	deletions      pendingDeletions
	earlyEvictions earlyEviction
	window         int // see store.Admission
	admitting      appendGuard
	quota          reservation
	waits          waitTimers
	archiveWaits   archiveTimers

	queue atomic.Pointer[queue] // nil while it does not run
}

type queue = workqueue.TypedRateLimitingInterface[task.Key]

// New returns a controller that makes one namespace of the cluster behind k8s
// match store and appends to log what came of it. It does nothing until Run.
func New(k8s kubernetes.Interface, namespace string, projection Projection, log Log, c Config) *Controller {
	c = c.withDefaults()
	return &Controller{
		jobs:       k8s.BatchV1().Jobs(namespace),
		claims:     k8s.CoreV1().PersistentVolumeClaims(namespace),
		services:   k8s.CoreV1().Services(namespace),
		secrets:    k8s.CoreV1().Secrets(namespace),
		pods:       k8s.CoreV1().Pods(namespace),
		namespace:  namespace,
		projection: projection,
		log:        log,
		config:     c,
		deletions:  pendingDeletions{firstRetry: firstRetry},
		window:     windowOf(c.Workers),
	}
}

// Changed tells the controller that the store of an object changed. It does
// not block.
func (c *Controller) Changed(k task.Key) {
	if q := c.queue.Load(); q != nil {
		c.enqueue(*q, k)
	}
}

// enqueue has an object reconciled, but for a task that waits for its admission:
// that brings it back.
func (c *Controller) enqueue(q queue, k task.Key) {
	if k.Kind == task.KindVolume || !c.projection.AwaitsAdmission(k.ID) {
		q.Add(k)
	}
}

// Run reconciles until ctx ends, beginning with everything there is. It leaves
// all as it stands: whoever runs next sees it. One controller runs at a time.
func (c *Controller) Run(ctx context.Context) error {
	// Not the default limiter: its bucket of 10 retries a second, shared by all
	// objects, would strangle a burst of them.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[task.Key](firstWait, c.config.MaxWait)
	q := workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[task.Key]{
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[task.Key]{
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[task.Key]{Name: "submit", Queue: newFairQueue(c.projection.Objects)}),
		}),
	})
	defer q.ShutDown()
	c.queue.Store(&q)
	defer c.queue.Store(nil)
	defer c.deletions.clear()
	defer c.earlyEvictions.clear()
	defer c.quota.clear()
	defer c.waits.clear()
	defer c.archiveWaits.clear()
	defer context.AfterFunc(ctx, q.ShutDown)()
	for _, k := range c.projection.Keys() {
		c.enqueue(q, k)
	}
	var workers sync.WaitGroup
	for range c.config.Workers {
		workers.Go(func() {
			for c.next(ctx, q) {
			}
		})
	}
	workers.Go(func() { c.admit(ctx) })
	workers.Go(func() { c.expireHistory(ctx) })
	workers.Wait()
	return ctx.Err()
}

// next reconciles one object; it returns false once the queue is shut down.
func (c *Controller) next(ctx context.Context, q queue) bool {
	if c.config.Limiter.workers.acquire(ctx) != nil {
		return false
	}
	defer c.config.Limiter.workers.release()
	k, shutdown := q.Get()
	if shutdown {
		return false
	}
	defer q.Done(k)
	c.config.Limiter.busy.Add(1)
	defer c.config.Limiter.busy.Add(-1)
	again, err := c.attempt(ctx, k)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errNoReadIndex): // for all objects alike, so that none has to back off for it
		c.counters.logUnavailable.Add(1)
		pause(ctx)
		q.Add(k)
	case errors.Is(err, errDeletionPending) && again > 0: // the watch brings it back when there is news
		c.counters.requeued.Add(1)
		q.Forget(k)
		q.AddAfter(k, again)
	case err != nil:
		if expected(err) {
			c.counters.requeued.Add(1)
		} else {
			c.counters.failed.Add(1)
			c.config.Logger.Warn("reconciling failed; retrying", "object", k.String(), "err", err)
		}
		q.AddRateLimited(k)
	default:
		c.counters.done.Add(1)
		q.Forget(k)
		if again > 0 {
			q.AddAfter(k, again)
		}
	}
	return true
}

// expected reports whether an attempt failed for a reason that is no news: the
// log has said itself that it is out of reach, for all objects, or the record says
// which task goes first.
func expected(err error) bool {
	return errors.Is(err, errDeletionPending) || errors.Is(err, errYielded) || errors.Is(err, task.ErrUnavailable)
}

// pause keeps a worker from asking at once again where the log ends.
func pause(ctx context.Context) {
	select {
	case <-time.After(barrierRetry):
	case <-ctx.Done():
	}
}

// attempt reconciles one object. A panic ends that object, in the log and
// visibly, and nothing else.
func (c *Controller) attempt(ctx context.Context, k task.Key) (again time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.config.Logger.Error("panic while reconciling", "object", k.String(), "err", p, "stack", string(debug.Stack()))
			again, err = 0, errors.Join(fmt.Errorf("panic: %v", p), c.giveUp(ctx, k))
		}
	}()
	return c.reconcile(ctx, k)
}

// giveUp says in the log that an object cannot be handled; only the first of
// the two facts that is not late has an effect.
func (c *Controller) giveUp(ctx context.Context, k task.Key) error {
	const message = "the controller failed while processing this object; the server log has details"
	err := c.append(ctx, task.Command{Rejected: &task.Rejected{Key: k, Reason: task.ReasonInternal, Message: message}})
	if err == nil && k.Kind == task.KindTask {
		err = c.append(ctx, task.Command{Ended: &task.Ended{ID: k.ID, Phase: task.Failed, Reason: task.ReasonInternal, Message: message}})
	}
	return err
}

// errDeletionPending means that a deletion was accepted and has to be looked at again.
var errDeletionPending = errors.New("deletion is in progress")

// reconcile brings one object closer to what is wanted of it. again, if not 0,
// says after which time it is due even if nothing changes; with errDeletionPending too.
func (c *Controller) reconcile(ctx context.Context, k task.Key) (again time.Duration, err error) {
	seen, err := c.readBarrier(ctx)
	if err != nil {
		return 0, err
	}
	if k.Kind == task.KindVolume {
		return 0, c.reconcileVolume(ctx, k, c.projection.VolumeView(k.ID), seen)
	}
	return c.reconcileTask(ctx, k, c.projection.TaskView(k.ID), seen)
}

// append stores a fact. One that comes too late has no effect: the store
// shows by now what was decided before it, and brings the object back.
func (c *Controller) append(ctx context.Context, f task.Command) error {
	_, err := c.log.Append(ctx, f)
	return err
}
