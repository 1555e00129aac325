package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

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

// A follower reads the log once, in order and without gaps, into a Folder.
type follower struct {
	log     *Log
	outage  outage   // of its reading
	changed notifier // notified when any of the below changes

	mu        sync.Mutex
	identity  identity
	known     bool   // identity is
	first     uint64 // sequence at which the log began when it was looked at last
	blocked   error  // why this pod cannot start; nil if it can
	folded    uint64 // sequence of the last entry folded
	goal      uint64 // end of the log when it was identified first
	interrupt func() // makes run look at the log's identity again
}

func newFollower(l *Log) *follower {
	return &follower{
		log:       l,
		outage:    outage{log: l.config.Logger, what: "the log cannot be read, which is tried again until it can"},
		interrupt: func() {},
	}
}

// run follows the log until ctx ends, the folder cannot read an entry, or the
// log is none of ours. What goes wrong with NATS is waited out.
func (f *follower) run(ctx context.Context, folder Folder) error {
	for {
		err := f.follow(ctx, folder)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errForeign):
			return err
		case errors.Is(err, errUnreadable):
			return fmt.Errorf("%w; run that release or a later one", err)
		case errors.Is(err, task.ErrUnknownCommand):
			return fmt.Errorf("the log holds an entry of a newer release (number %d); run that release or a later one: %w", f.at()+1, err)
		case errors.Is(err, errNamed):
			continue
		case errors.Is(err, errReplaced):
			f.log.config.Logger.Warn("reading the log again", "err", err)
			f.forget()
		case errors.Is(err, task.ErrAstray):
			f.log.config.Logger.Error("starting again from the state that the others have; please report this", "err", err)
			f.forget()
		default:
			f.outage.goesOn(err)
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
func (f *follower) follow(ctx context.Context, folder Folder) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.interruptible(cancel)
	head, err := f.log.identify(ctx)
	if err != nil {
		return err
	}
	if err := f.recognise(ctx, head.identity, head.StreamState); err != nil {
		return err
	}
	if !f.isKnown() {
		if err := f.begin(ctx, head, folder); err != nil {
			f.block(err)
			return err
		}
		if head.NumDeleted > 0 { // a deleted entry at the end shows only once another one comes
			if _, err := f.log.putBarrier(ctx, head.id); err != nil {
				return err
			}
		}
	}
	messages, err := f.awaitConsumer(ctx, folder)
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	defer messages.Stop()
	return f.read(ctx, messages, folder)
}

func (f *follower) read(ctx context.Context, messages jetstream.MessagesContext, folder Folder) error {
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("follow the log: %w", err)
		}
		if meta.Sequence.Stream <= f.at() {
			continue // it was fetched before the consumer was there
		}
		if err := f.fold(ctx, m.Data(), meta.Sequence.Stream, meta.Timestamp, folder); err != nil {
			return err
		}
	}
}

func (f *follower) fold(ctx context.Context, data []byte, seq uint64, stamp time.Time, folder Folder) error {
	e, err := f.log.entryAt(ctx, data, seq, stamp, f.at())
	if err != nil {
		return err
	}
	verdicts, err := folder.Fold(e)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.folded = e.Seq
	f.mu.Unlock()
	f.outage.over()
	f.log.growth.bytes.Add(int64(len(data) + overhead))
	f.log.clock.observe(e.Time)
	f.changed.notify()
	f.log.writer.fold(e, verdicts)
	if e.Begin && e.Log != f.id() {
		return errNamed
	}
	return nil
}

func (f *follower) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.folded = false, 0
}

func (f *follower) isKnown() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known
}

// hasBegun reports whether it has followed a log, this one or another.
func (f *follower) hasBegun() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.identity != identity{}
}

// A standing is how far a follower has come, and in which log.
type standing struct {
	identity
	known  bool // the follower reads a log
	folded uint64
}

func (f *follower) standing() standing {
	f.mu.Lock()
	defer f.mu.Unlock()
	return standing{f.identity, f.known, f.folded}
}

// matches reports whether info, which was asked for after s was taken, is of the log
// that the follower read then. A follower that read none takes any.
func (s standing) matches(info *jetstream.StreamInfo) bool {
	return !s.known || info.Created.Equal(s.created) && continues(info.State, s.folded)
}

// look is called with a state of the stream that a barrier confirms. If the state is
// of another log, the follower finds out too, and begins again.
func (f *follower) look(ctx context.Context, info *jetstream.StreamInfo, before standing) error {
	if before.matches(info) {
		return f.noteFirst(ctx, info.State)
	}
	f.mu.Lock()
	interrupt := f.interrupt
	f.mu.Unlock()
	interrupt()
	return errReplaced
}

func (f *follower) interruptible(by func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interrupt = by
}

func (f *follower) at() uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.folded
}

func (f *follower) caughtUp() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.known && f.folded >= f.goal
}

// knownID returns the id of the log that the follower reads, empty if it reads none
// at present.
func (f *follower) knownID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.known {
		return ""
	}
	return f.identity.id
}

// block notes why this pod cannot start.
func (f *follower) block(err error) {
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

// await blocks until the log has been identified.
func (f *follower) await(ctx context.Context) error {
	return f.changed.wait(ctx, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.known
	})
}

// reach blocks until the entry at seq has been folded.
func (f *follower) reach(ctx context.Context, seq uint64) error {
	if f.at() >= seq {
		return nil
	}
	return f.changed.wait(ctx, func() bool { return f.at() >= seq })
}
