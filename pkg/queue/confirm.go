package queue

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

const barrierPause = 50 * time.Millisecond // between two barrier entries of one pod

// streamInfo asks for the state of the stream; current is true if the answer holds
// all that was acknowledged before the call.
func (l *Log) streamInfo(ctx context.Context) (info *jetstream.StreamInfo, current bool, err error) {
	asked := time.Now()
	if info, err = l.stream.Info(ctx); err != nil {
		return nil, false, fmt.Errorf("request the end of the log: %w", err)
	}
	current = l.index.observe(info, asked)
	if current {
		l.clock.observe(info.TimeStamp)
	}
	if current {
		l.capacity.update(info)
	}
	return info, current, nil
}

// confirmedInfo returns a state of the stream that holds all that was acknowledged
// before the call.
func (l *Log) confirmedInfo(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	before := l.follower.appliedPosition()
	info, current, err := l.streamInfo(ctx)
	switch {
	case err != nil:
		return nil, err
	case current && before.matches(info):
		return info, nil
	case !streams.HasLeader(info):
		return nil, streams.ErrUnconfirmed
	}
	info, _, err = l.barrierInfo(ctx, l.follower.knownID())
	if err == nil && info == nil {
		err = streams.ErrUnconfirmed
	}
	return info, err
}

// barrierInfo stores a barrier entry and returns its position, and the state of the
// stream as of some moment since; info is nil if there is no answer, or one of a
// leader that was deposed and lacks the barrier. Only this shows that a log was replaced: while the
// leadership is transferred, the old leader and the new one answer side by side.
func (l *Log) barrierInfo(ctx context.Context, log string) (info *jetstream.StreamInfo, seq uint64, err error) {
	if seq, err = l.appendBarrier(ctx, log); err != nil {
		return nil, 0, err
	}
	info, _, err = l.streamInfo(ctx)
	if err != nil || !streams.HasLeader(info) || info.State.LastSeq < seq {
		return nil, seq, nil //nolint:nilerr // the position is confirmed all the same
	}
	l.clock.observe(info.TimeStamp)
	l.capacity.update(info)
	return info, seq, nil
}

// appendBarrier stores an entry that has no effect and returns its position: NATS
// acknowledges an entry only if its leader still leads, and all that was
// acknowledged before stands in front of it. If the id of the log is not known yet,
// the entry names the log in case the stream is empty.
func (l *Log) appendBarrier(ctx context.Context, log string) (uint64, error) {
	if err := l.index.throttleBarrier(ctx); err != nil {
		return 0, err
	}
	entry := task.Entry{Version: task.EntryVersion, Log: log}
	if log == "" {
		entry.Log, entry.StartsLog = newID(), true
	}
	raw, err := entry.Encode()
	if err != nil {
		return 0, fmt.Errorf("confirm the end of the log: %w", err)
	}
	ack, err := l.js.Publish(ctx, subject.Log, raw)
	if err != nil {
		return 0, fmt.Errorf("confirm the end of the log: %w", err)
	}
	return ack.Sequence, nil
}

// throttleBarrier waits until another barrier entry may be sent.
func (r *readIndex) throttleBarrier(ctx context.Context) error {
	r.mu.Lock()
	next := r.barrier.Add(barrierPause)
	if now := time.Now(); next.Before(now) {
		next = now
	}
	r.barrier = next
	r.mu.Unlock()
	select {
	case <-time.After(time.Until(next)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
