package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

const (
	heartbeat  = 500 * time.Millisecond // a lost consumer is noticed after two heartbeats
	fetchPause = 50 * time.Millisecond  // between two fetches while there is no consumer
	idle       = 10 * time.Second       // NATS deletes a consumer that received no pull request for this long
)

// errReplaced means that the stream contains another log than before, or that entries were
// removed that this pod has not read or that no snapshot covers.
var errReplaced = errors.New("the command log was replaced or purged")

// errNamed means that an entry names a log; the log may be another one than before.
var errNamed = errors.New("an entry names a log")

// A follower reads the log once, in order and without gaps, into a StateMachine.
type follower struct {
	*logStream
	snapshots  *snapshotStore
	writer     *writer // receives each folded entry
	acceptLoss bool
	outage     *streams.OutageLogger // of reading the log
	changed    notifier              // notified when any of the fields below changes

	mu            sync.Mutex
	identity      identity
	known         bool   // identity is set
	first         uint64 // first sequence of the log at the last check
	blocked       error  // why this pod cannot start; nil if it can
	folded        uint64 // sequence of the last entry folded
	catchUpTarget uint64 // end of the log when the log was first identified
	interrupt     func() // makes run check the identity of the log again
}

func newFollower(s *logStream, snapshots *snapshotStore, acceptLoss bool) *follower {
	return &follower{
		logStream: s, snapshots: snapshots, acceptLoss: acceptLoss,
		outage:    streams.NewOutageLogger(s.logger, "reading the command log failed; retrying", "reading the command log works again"),
		interrupt: func() {},
	}
}

// run follows the log until ctx ends, the state machine cannot read an entry, or the stream is
// not a log of this project. After errors of NATS, run retries.
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
			return fmt.Errorf("the command log has an entry of a newer release (number %d); run that release or a later one: %w", f.applied()+1, err)
		case errors.Is(err, errNamed):
			continue
		case errors.Is(err, errReplaced):
			f.logger.Warn("the command log was replaced; reading the state anew", "err", err)
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

// follow reads the log, beginning after the last folded entry or after a snapshot. follow
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
		if head.NumDeleted > 0 { // a deleted last entry is noticed only when another entry follows
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
			continue // fetch read the entry before the consumer existed
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
	f.capacity.add(seq, len(data))
	f.clock.observe(e.Time)
	f.changed.notify()
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
	f.capacity.reset()
}

func (f *follower) isKnown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

// hasFollowed reports whether the follower has followed a log, this log or an earlier one.
func (f *follower) hasFollowed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity != identity{}
}

// An appliedPosition is the position that a follower has applied, together with its log.
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

// knownID returns the id of the log that the follower reads, empty if the follower reads none.
func (s appliedPosition) knownID() string {
	if !s.known {
		return ""
	}
	return s.identity.id
}

// matches reports whether info describes the log that the follower read at s. info must have
// been requested after s was taken. A position without a log matches every info.
func (s appliedPosition) matches(info *jetstream.StreamInfo) bool {
	return !s.known || info.Created.Equal(s.created) && continues(info.State, s.folded)
}

// restartIfReplaced takes a state of the stream that a barrier entry confirms. If the state
// belongs to another log, restartIfReplaced interrupts the follower, which then identifies the
// log again.
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

// setBlocked records why this pod cannot start.
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
	return f.changed.wait(ctx, func() bool {
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
	return f.changed.wait(ctx, func() bool { return f.applied() >= seq })
}

// IsCaughtUp reports whether this pod has folded all entries that the log contained when the
// log was first identified. After a log was replaced, the new log must be identified first.
func (f *follower) IsCaughtUp() bool { return f.caughtUp() }
