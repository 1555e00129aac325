package queue

import (
	"context"
	"encoding/json"
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
// that were not read yet.
var errReplaced = errors.New("the log was replaced or purged")

// A follower reads the log once, in order and without gaps, into a Folder.
type follower struct {
	log     *Log
	changed notifier // notified when any of the below changes

	mu        sync.Mutex
	identity  identity
	known     bool   // identity is
	folded    uint64 // sequence of the last entry folded
	goal      uint64 // end of the log when it was identified first
	interrupt func() // makes run look at the log's identity again
}

func newFollower(l *Log) *follower {
	return &follower{log: l, interrupt: func() {}}
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
		case errors.Is(err, task.ErrUnknownCommand):
			return fmt.Errorf("the log holds an entry of a newer release (number %d); run that release or a later one: %w", f.at()+1, err)
		case errors.Is(err, errReplaced):
			f.log.config.Logger.Warn("reading the log again from its start", "err", err)
			f.forget()
			f.log.writer.renew()
			folder.Reset()
		default:
			f.log.config.Logger.Warn("lost the log, following it again", "err", err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryPause):
		}
	}
}

// follow reads the log from where the follower stands. It never returns nil.
func (f *follower) follow(ctx context.Context, folder Folder) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.interruptible(cancel)
	who, info, err := f.log.identify(ctx)
	if err != nil {
		return err
	}
	if err := f.recognise(who, info.State); err != nil {
		return err
	}
	// An ordered consumer of nats.go would mend itself without a word; this one
	// fails, so that the log's identity is checked before reading goes on.
	consumer, err := f.log.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       f.at() + 1,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: idle,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return fmt.Errorf("follow the log: %w", err)
	}
	messages, err := consumer.Messages(jetstream.PullHeartbeat(heartbeat), jetstream.PullExpiry(2*heartbeat+time.Second))
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
		if err := f.fold(m.Data(), meta, folder); err != nil {
			return err
		}
	}
}

func (f *follower) fold(data []byte, meta *jetstream.MsgMetadata, folder Folder) error {
	seq := meta.Sequence.Stream
	if at := f.at(); seq != at+1 && at > 0 {
		return fmt.Errorf("entry %d follows entry %d: %w", seq, at, errReplaced)
	}
	var e task.Entry
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("%w: %w", task.ErrUnknownCommand, err)
	}
	e.Seq, e.Time = seq, meta.Timestamp
	verdicts, err := folder.Fold(e)
	if err != nil {
		return err
	}
	f.mu.Lock()
	f.folded = seq
	f.mu.Unlock()
	f.changed.notify()
	f.log.writer.fold(e, verdicts)
	return nil
}

// recognise compares the log with the one read so far.
func (f *follower) recognise(who identity, at jetstream.StreamState) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known && (f.identity != who || at.LastSeq < f.folded || at.FirstSeq > f.folded+1) {
		return errReplaced
	}
	if !f.known {
		f.identity, f.known, f.goal = who, true, at.LastSeq
		f.log.ends.stored(at.LastSeq)
		f.changed.notify()
	}
	return nil
}

func (f *follower) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known, f.folded = false, 0
}

// look reports whether info is of the log that the follower reads, of which it
// had folded the entry at when info was asked for. If it is not, the follower
// will find out too, and begin again.
func (f *follower) look(info *jetstream.StreamInfo, at uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known && (!info.Created.Equal(f.identity.created) || info.State.FirstSeq != f.identity.first || info.State.LastSeq < at) {
		f.interrupt()
		return errReplaced
	}
	return nil
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
