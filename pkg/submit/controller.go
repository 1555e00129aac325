// Package submit reconciles the cluster with the log. It creates the Jobs and claims that the
// log asks for, deletes those that it does not, and appends the facts. The controller is
// level-triggered: reconciling an object reads the store and never a message, so that repeated
// or late attempts are harmless.
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

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/trace"
)

// A Log appends facts and waits for its read index.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)
	// WaitReadIndex waits until the store contains everything that was stored before the call;
	// ok is false if the end of the log cannot be confirmed.
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
}

// Config holds the settings of a Controller; the zero value of each setting is usable.
type Config struct {
	Workers      int                 // upper bound of objects reconciled at once; 0 means 64
	Limiter      *ConcurrencyLimiter // how many objects are reconciled at once; the client of Kubernetes must use its RoundTripper; nil means a new one
	MaxBackoff   time.Duration       // longest pause between two attempts; 0 means 30s
	KeepJobs     time.Duration       // how long the Jobs of a finished task are retained; 0 means an hour
	History      time.Duration       // how long a task that is over stays in the history; 0 means a week
	HistoryTasks int                 // most tasks in the history; 0 means 200,000
	Logger       *slog.Logger        // nil logs nothing
	Tracer       *trace.Tracer       // tracer of submissions with a trace; nil traces nothing

	AdoptLegacy bool // also adopt objects whose user only their labels name; see task.LegacySubmit

	// OpenSecrets returns the values of the sealed secrets of a submission; nil means that this
	// server has no key to unseal secrets.
	OpenSecrets func(task.Submit) (map[string]string, error)

	// LogsArchived reports whether the Jobs of a finished task can be deleted without losing a
	// part of its logs. Call Enqueue when the result changes. nil means that logs are not
	// archived.
	LogsArchived func(id string) bool

	// UploadToken returns the token with which the pods of a task fetch its uploads; nil
	// means that this server has no key to make tokens.
	UploadToken func(id string) string

	// OutputToken returns the token with which one node of a task sends its outputs; nil
	// means the same.
	OutputToken func(id string, rank int) string
}

func (c Config) withDefaults() Config {
	c.Workers = cmp.Or(c.Workers, 64)
	c.Limiter = cmp.Or(c.Limiter, NewConcurrencyLimiter())
	c.MaxBackoff = cmp.Or(c.MaxBackoff, 30*time.Second)
	c.KeepJobs = cmp.Or(c.KeepJobs, time.Hour)
	c.History = cmp.Or(c.History, 7*24*time.Hour)
	c.HistoryTasks = cmp.Or(c.HistoryTasks, 200_000)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

const (
	firstWait    = 5 * time.Millisecond   // pause before the second attempt; doubles with each attempt
	barrierRetry = 100 * time.Millisecond // pause of a worker while the end of the log is unknown
)

// A Controller reconciles objects while Run runs.
type Controller struct {
	jobs       batchclient.JobInterface // changed in kubernetes_writes.go only
	claims     coreclient.PersistentVolumeClaimInterface
	services   coreclient.ServiceInterface
	secrets    coreclient.SecretInterface
	pods       coreclient.PodInterface
	namespace  string
	store      *cache.Store
	log        Log
	config     Config
	counters   counters
	window     int              // see cache.Store.Admission
	firstRetry time.Duration    // see pendingDeletions
	now        func() time.Time // of read points

	*term

	queue atomic.Pointer[queue] // nil while Run does not run
}

// A term is what a controller remembers while it leads. A controller that leads again begins with a
// new term, because another one has led in the meantime.
type term struct {
	deletions      pendingDeletions
	earlyEvictions earlyEviction
	admitting      appendGuard
	quota          reservation
	waits          waitTimers
	runs           runTimer
	archiveWaits   archiveTimers
	publications   publications
}

func (c *Controller) newTerm() *term {
	return &term{deletions: pendingDeletions{firstRetry: c.firstRetry}}
}

type queue = workqueue.TypedRateLimitingInterface[task.Key]

// New returns a controller that reconciles one namespace of the cluster behind k8s with
// store, and appends facts to log. The controller does nothing before Run.
func New(k8s kubernetes.Interface, namespace string, store *cache.Store, log Log, c Config) *Controller {
	c = c.withDefaults()
	controller := &Controller{
		jobs:       k8s.BatchV1().Jobs(namespace),
		claims:     k8s.CoreV1().PersistentVolumeClaims(namespace),
		services:   k8s.CoreV1().Services(namespace),
		secrets:    k8s.CoreV1().Secrets(namespace),
		pods:       k8s.CoreV1().Pods(namespace),
		namespace:  namespace,
		store:      store,
		log:        log,
		config:     c,
		window:     windowOf(c.Workers),
		firstRetry: firstRetry,
		now:        time.Now,
	}
	controller.term = controller.newTerm()
	return controller
}

// Enqueue notifies the controller of a change of an object in the store. Enqueue does not
// block.
func (c *Controller) Enqueue(k task.Key) {
	if q := c.queue.Load(); q != nil {
		c.enqueue(*q, k)
	}
}

// enqueue adds an object to the queue, except for a task that waits for its admission: the
// admission changes the task and so enqueues it.
func (c *Controller) enqueue(q queue, k task.Key) {
	if k.Kind == task.KindVolume || !c.store.AwaitsAdmission(k.ID) {
		q.Add(k)
	}
}

// Run reconciles until ctx ends, beginning with all objects. When Run ends it undoes nothing:
// the next controller continues from the cluster and the log. Only one controller may run at a
// time.
func (c *Controller) Run(ctx context.Context) error {
	// The default rate limiter of client-go is not used: all objects share its bucket of 10
	// retries a second, which would delay a burst of retries for long.
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[task.Key](firstWait, c.config.MaxBackoff)
	q := workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[task.Key]{
		DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[task.Key]{
			Queue: workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[task.Key]{Name: "submit", Queue: newWorkOrder(c.store)}),
		}),
	})
	defer q.ShutDown()
	c.queue.Store(&q)
	defer c.queue.Store(nil)
	c.term = c.newTerm()
	defer context.AfterFunc(ctx, q.ShutDown)()
	for _, k := range c.store.Keys() {
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

// next reconciles one object; next returns false once the queue is shut down.
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
	case errors.Is(err, errNoReadIndex): // the error concerns all objects, so no object backs off
		c.counters.logUnavailable.Add(1)
		pause(ctx)
		q.Add(k)
	case errors.Is(err, errDeletionPending) && again > 0: // the watch enqueues the object again after a change
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

// expected reports whether an attempt failed for a reason that is logged or recorded
// elsewhere: the log itself reports that it is unavailable, and the record says which task
// goes first.
func expected(err error) bool {
	return errors.Is(err, errDeletionPending) || errors.Is(err, errYielded) || errors.Is(err, problem.Unavailable)
}

// pause delays a worker before it waits for the read index again.
func pause(ctx context.Context) {
	select {
	case <-time.After(barrierRetry):
	case <-ctx.Done():
	}
}

// attempt reconciles one object. A panic fails only this object, with a fact in the log.
func (c *Controller) attempt(ctx context.Context, k task.Key) (again time.Duration, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.config.Logger.Error("panic while reconciling", "object", k.String(), "err", p, "stack", string(debug.Stack()))
			again, err = 0, errors.Join(fmt.Errorf("panic: %v", p), c.giveUp(ctx, k))
		}
	}()
	return c.reconcile(ctx, k)
}

// giveUp appends that an object cannot be reconciled. The fold accepts Rejected before the
// Jobs exist and Ended afterwards, so that exactly one of the two facts has an effect.
func (c *Controller) giveUp(ctx context.Context, k task.Key) error {
	const message = "the controller failed while processing this object; the server log has details"
	err := c.append(ctx, task.Command{Rejected: &task.Rejected{Key: k, Reason: task.ReasonInternal, Message: message}})
	if err == nil && k.Kind == task.KindTask {
		err = c.append(ctx, task.Command{Ended: &task.Ended{ID: k.ID, Phase: task.Failed, Reason: task.ReasonInternal, Message: message}})
	}
	return err
}

// errDeletionPending means that the API server accepted a deletion that must be checked again.
var errDeletionPending = errors.New("deletion is in progress")

// reconcile brings one object closer to its desired state. again, if not 0, is the time after
// which the object must be reconciled even without a change; again may accompany
// errDeletionPending.
func (c *Controller) reconcile(ctx context.Context, k task.Key) (again time.Duration, err error) {
	seen, err := c.readBarrier(ctx)
	if err != nil {
		return 0, err
	}
	if k.Kind == task.KindVolume {
		return 0, c.reconcileVolume(ctx, k, c.store.VolumeView(k.ID), seen)
	}
	return c.reconcileTask(ctx, k, c.store.TaskView(k.ID), seen)
}

// append stores a fact. A stale fact has no effect: the decision that came before the fact has
// changed the store, and so enqueues the object again.
func (c *Controller) append(ctx context.Context, f task.Command) error {
	_, err := c.log.Append(ctx, f)
	return err
}
