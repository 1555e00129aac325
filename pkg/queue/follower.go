package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/change"
	"k8s-cli/pkg/queue/internal/outage"
	"k8s-cli/pkg/task"
)

const (
	heartbeat  = 500 * time.Millisecond // a lost consumer is noticed after two of them
	fetchPause = 50 * time.Millisecond  // between two looks for entries while there is no consumer
	idle       = 10 * time.Second       // after which NATS forgets a consumer that nobody pulls from
)

// errReplaced means that the log is another one than before, or lacks entries
// that were not read yet or that no snapshot holds.
var errReplaced = errors.New("the log was replaced or purged")

// errNamed means that an entry names a log, which may be another one than before.
var errNamed = errors.New("an entry names a log")

// A follower reads the log once, in order and without gaps, into a StateMachine.
type follower struct {
	*logStream
	snapshots  *snapshotStore
	writer     *writer // hears what is folded
	acceptLoss bool
	outage     *outage.Logger  // of its reading
	changed    change.Notifier // notified when any of the below changes

	mu            sync.Mutex
	identity      identity
	known         bool   // identity is
	first         uint64 // sequence at which the log began when it was looked at last
	blocked       error  // why this pod cannot start; nil if it can
	folded        uint64 // sequence of the last entry folded
	catchUpTarget uint64 // end of the log when it was identified first
	interrupt     func() // makes run look at the log's identity again
}

func newFollower(s *logStream, snapshots *snapshotStore, acceptLoss bool) *follower {
	return &follower{
		logStream: s, snapshots: snapshots, acceptLoss: acceptLoss,
		outage:    outage.NewLogger(s.logger, "reading the log failed; retrying", "reading the log works again"),
		interrupt: func() {},
	}
}

// run follows the log until ctx ends, the state machine cannot read an entry, or the
// log is none of ours. What goes wrong with NATS is waited out.
func (f *follower) run(ctx context.Context, machine StateMachine) error {
	for {
		err := f.follow(ctx, machine)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errForeign):
			return err
		case errors.Is(err, errUnreadable):
			return fmt.Errorf("%w; run that release or a later one", err)
		case errors.Is(err, task.ErrUnknownCommand):
			return fmt.Errorf("the log holds an entry of a newer release (number %d); run that release or a later one: %w", f.applied()+1, err)
		case errors.Is(err, errNamed):
			continue
		case errors.Is(err, errReplaced):
			f.logger.Warn("reloading the state from the log", "err", err)
			f.reset()
		case errors.Is(err, task.ErrDiverged):
			f.logger.Error("state diverged from the other pods; restoring from snapshot, please report this", "err", err)
			f.reset()
		default:
			f.outage.Failed(err)
		}
		pause := retryPause
		if errors.Is(err, errUncovered) {
			pause = uncoveredPause
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// follow reads the log from where the follower stands, or from its snapshot. It
// never returns nil.
func (f *follower) follow(ctx context.Context, machine StateMachine) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.setInterrupt(cancel)
	head, err := f.identify(ctx, f.appliedPosition())
	if err != nil {
		return err
	}
	if err := f.verifySameLog(ctx, head.identity, head.StreamState); err != nil {
		return err
	}
	if !f.isKnown() {
		if err := f.bootstrap(ctx, head, machine); err != nil {
			f.setBlocked(err)
			return err
		}
		if head.NumDeleted > 0 { // a deleted entry at the end shows only once another one comes
			if _, err := f.appendBarrier(ctx, head.id); err != nil {
				return err
			}
		}
	}
	messages, err := f.awaitConsumer(ctx, machine)
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	defer messages.Stop()
	return f.read(ctx, messages, machine)
}

func (f *follower) read(ctx context.Context, messages jetstream.MessagesContext, machine StateMachine) error {
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		if meta.Sequence.Stream <= f.applied() {
			continue // it was fetched before the consumer was there
		}
		if err := f.fold(ctx, m.Data(), meta.Sequence.Stream, meta.Timestamp, machine); err != nil {
			return err
		}
	}
}

func (f *follower) fold(ctx context.Context, data []byte, seq uint64, stamp time.Time, machine StateMachine) error {
	e, err := f.entryAt(ctx, data, seq, stamp, f.applied(), f.id())
	if err != nil {
		return err
	}
	results, err := machine.Fold(e)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.folded = e.Seq
	f.mu.Unlock()
	f.outage.Recovered()
	f.snapshots.snapshotPolicy.bytes.Add(int64(len(data) + entryOverhead))
	f.clock.observe(e.Time)
	f.changed.Notify()
	f.writer.fold(e, results)
	if e.StartsLog && e.Log != f.id() {
		return errNamed
	}
	return nil
}

func (f *follower) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.folded = false, 0
}

func (f *follower) isKnown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

// hasFollowed reports whether it has followed a log, this one or another.
func (f *follower) hasFollowed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity != identity{}
}

// An appliedPosition is how far a follower has come, and in which log.
type appliedPosition struct {
	identity
	known  bool // the follower reads a log
	folded uint64
}

func (f *follower) appliedPosition() appliedPosition {
	f.mu.Lock()
	defer f.mu.Unlock()
	return appliedPosition{f.identity, f.known, f.folded}
}

// knownID returns the id of the log that the follower read, empty if it read none.
func (s appliedPosition) knownID() string {
	if !s.known {
		return ""
	}
	return s.identity.id
}

// matches reports whether info, which was asked for after s was taken, is of the log
// that the follower read then. A follower that read none takes any.
func (s appliedPosition) matches(info *jetstream.StreamInfo) bool {
	return !s.known || info.Created.Equal(s.created) && continues(info.State, s.folded)
}

// restartIfReplaced is called with a state of the stream that a barrier confirms. If the state is
// of another log, the follower finds out too, and begins again.
func (f *follower) restartIfReplaced(ctx context.Context, info *jetstream.StreamInfo, before appliedPosition) error {
	if before.matches(info) {
		return f.updateFirst(ctx, info.State)
	}
	f.mu.Lock()
	interrupt := f.interrupt
	f.mu.Unlock()
	interrupt()
	return errReplaced
}

func (f *follower) setInterrupt(by func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interrupt = by
}

func (f *follower) applied() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.folded
}

func (f *follower) caughtUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known && f.folded >= f.catchUpTarget
}

// setBlocked notes why this pod cannot start.
func (f *follower) setBlocked(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blocked = nil; errors.Is(err, errUncovered) {
		f.blocked = err
	}
}

func (f *follower) id() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity.id
}

// awaitIdentified blocks until the log has been identified.
func (f *follower) awaitIdentified(ctx context.Context) error {
	return f.changed.Wait(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.known
	})
}

// waitApplied blocks until the entry at seq has been folded.
func (f *follower) waitApplied(ctx context.Context, seq uint64) error {
	if f.applied() >= seq {
		return nil
	}
	return f.changed.Wait(ctx, func() bool { return f.applied() >= seq })
}

// IsCaughtUp reports whether this pod has folded the log up to the end that it
// had when it was found. A log that is replaced has to be found anew.
func (f *follower) IsCaughtUp() bool { return f.caughtUp() }
