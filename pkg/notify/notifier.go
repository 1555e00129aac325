// Package notify sends the events of tasks to URLs of users. The leader sends each event at
// least once, and the events of one receiver in order. A receiver that is away delays no
// other.
package notify

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/problem"
)

// Events reads the stored events of tasks.
type Events interface {
	// Bounds returns the bounds of the stream. The error is of kind problem.NotFound if no event
	// was published yet.
	Bounds(ctx context.Context) (task.EventBounds, error)

	// FollowTasks passes the position and the task of each event from a position on to pass, in
	// order and without gaps, until ctx ends or reading fails.
	FollowTasks(ctx context.Context, from uint64, pass func(position uint64, id string)) error

	// NextOfTasks returns the first stored event of a task of user at or after a position. The
	// error is of kind problem.NotFound if there is none.
	NextOfTasks(ctx context.Context, user string, from uint64) (task.StoredEvent, error)
}

// A Checkpoint stores how far the events were delivered, for the next leader.
type Checkpoint interface {
	// Load returns what Store stored last, nil if nothing was stored.
	Load(ctx context.Context) ([]byte, error)

	// Store fails if another pod has stored a checkpoint since Load.
	Store(ctx context.Context, checkpoint []byte) error
}

// Config holds the settings of a Notifier.
type Config struct {
	Hosts     callback.Hosts
	Secret    func(user string) []byte // with which the notifications of a user are signed
	Retention time.Duration            // for how long events are stored

	// CaughtUp waits, within bounds, until the tasks contain everything that was in the log
	// before the call. It reports whether they do.
	CaughtUp func(ctx context.Context) bool

	Logger *slog.Logger
}

// A Notifier sends notifications.
type Notifier struct {
	events     Events
	checkpoint Checkpoint
	taskView   func(id string) task.View
	config     Config
	client     *http.Client
	counters   counters
	gone       gone
	run        atomic.Pointer[run] // nil while Run does not run
}

// New returns a Notifier, which does nothing until Run.
func New(events Events, c Checkpoint, taskView func(id string) task.View, config Config) *Notifier {
	return &Notifier{events: events, checkpoint: c, taskView: taskView, config: config, client: newClient(config.Hosts.CheckAddress)}
}

// Run sends notifications until ctx ends. The leader calls Run.
func (n *Notifier) Run(ctx context.Context) error {
	failing := false
	for {
		started := time.Now()
		err := n.runOnce(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		failing = failing && time.Since(started) < time.Minute
		if !failing && !errors.Is(err, problem.NotFound) { // the publisher is about to create the stream
			n.config.Logger.Warn("reading the events for notifications failed; retrying", "err", err)
			failing = true
		}
		if !pause(ctx, retryPause) {
			return ctx.Err()
		}
	}
}

const (
	retryPause = time.Second
	storeEvery = time.Second     // between two checkpoints
	storeWait  = 2 * time.Second // for the last checkpoint of a leader
)

// runOnce sends notifications from the last checkpoint on, until ctx ends or an error occurs.
func (n *Notifier) runOnce(ctx context.Context) error {
	bounds, err := n.events.Bounds(ctx)
	if err != nil {
		return err
	}
	stored, err := n.checkpoint.Load(ctx)
	if err != nil {
		return err
	}
	position, err := readPosition(stored, bounds)
	if err != nil {
		return err
	}
	if position.Events > 0 && bounds.First > position.Events+1 {
		n.config.Logger.Warn("events expired before their notifications were sent", "after", position.Events, "oldest", bounds.First)
		n.counters.expired.Add(1)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := newRun(ctx, n, bounds.Stream, position)
	n.run.Store(r)
	defer n.run.Store(nil)
	r.workers.Go(func() { cancel(r.storeCheckpoints()) })
	r.resume(position)
	err = n.events.FollowTasks(ctx, position.Events+1, r.pass)
	cancel(err)
	r.workers.Wait()
	final, done := context.WithTimeout(context.WithoutCancel(ctx), storeWait)
	defer done()
	if cause := context.Cause(ctx); !errors.Is(cause, errCheckpoint) {
		_ = r.storeCheckpoint(final) // without it, the next leader repeats some notifications
		return err
	}
	return context.Cause(ctx)
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
