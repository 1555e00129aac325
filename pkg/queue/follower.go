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
	heartbeat = 500 * time.Millisecond // a lost consumer is noticed after two of them
	idle      = 10 * time.Second       // after which NATS forgets a consumer that nobody pulls from
)

// errReplaced means that the log is another one than before, or lacks entries
// that were not read yet or that no snapshot holds.
var errReplaced = errors.New("the log was replaced or purged")

// A follower reads the log once, in order and without gaps, into a Folder.
type follower struct {
	log     *Log
	outage  outage   // of its reading
	changed notifier // notified when any of the below changes

	mu        sync.Mutex
	identity  identity
	known     bool   // identity is
	first     uint64 // sequence at which the log began when it was looked at last
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
		case errors.Is(err, errReplaced):
			f.log.config.Logger.Warn("reading the log again", "err", err)
			f.forget()
		case errors.Is(err, task.ErrAstray):
			f.log.config.Logger.Error("starting again from the state that the others have; please report this", "err", err)
			f.forget()
		default:
			f.outage.goesOn(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// follow reads the log from where the follower stands, or from its snapshot. It
// never returns nil.
func (f *follower) follow(ctx context.Context, folder Folder) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.interruptible(cancel)
	who, info, err := f.log.identify(ctx)
	if err != nil {
		return err
	}
	if err := f.recognise(ctx, who, info.State); err != nil {
		return err
	}
	if !f.isKnown() {
		if err := f.begin(ctx, who, info.State, folder); err != nil {
			return err
		}
	}
	messages, err := f.log.consume(ctx, f.at()+1)
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	defer messages.Stop()
	return f.read(ctx, messages, folder)
}

// consume delivers the entries of the log from one on. An ordered consumer of
// nats.go would mend itself without a word; this one fails, so that the log's
// identity is checked before reading goes on.
func (l *Log) consume(ctx context.Context, from uint64) (jetstream.MessagesContext, error) {
	consumer, err := l.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       from,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: idle,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return nil, err
	}
	return consumer.Messages(jetstream.PullHeartbeat(heartbeat), jetstream.PullExpiry(2*heartbeat+time.Second))
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
		if err := f.fold(m.Data(), meta, folder); err != nil {
			return err
		}
	}
}

func (f *follower) fold(data []byte, meta *jetstream.MsgMetadata, folder Folder) error {
	seq := meta.Sequence.Stream
	if at := f.at(); seq != at+1 && at > 0 { // whether the log or a delivery of it lacks something shows when it is looked at anew
		return fmt.Errorf("entry %d was delivered after entry %d", seq, at)
	}
	e, err := task.DecodeEntry(data)
	if err != nil {
		return err
	}
	e.Seq, e.Time = seq, meta.Timestamp
	verdicts, err := folder.Fold(e)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.folded = seq
	f.mu.Unlock()
	f.outage.over()
	f.log.growth.bytes.Add(int64(len(data) + overhead))
	f.changed.notify()
	f.log.writer.fold(e, verdicts)
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

// look reports whether info is of the log that the follower reads, of which it
// had folded the entry at when info was asked for. If it is not, the follower
// will find out too, and begin again.
func (f *follower) look(ctx context.Context, info *jetstream.StreamInfo, at uint64) error {
	f.mu.Lock()
	known, who, first, interrupt := f.known, f.identity, f.first, f.interrupt
	f.mu.Unlock()
	if !known {
		return nil
	}
	err := errReplaced
	if now := info.State; info.Created.Equal(who.created) && now.LastSeq >= at && now.FirstSeq <= at+1 {
		err = f.begins(ctx, who.id, first, now)
	}
	if errors.Is(err, errReplaced) {
		interrupt()
	}
	return err
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
