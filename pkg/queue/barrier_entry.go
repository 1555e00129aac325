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

// streamInfo requests the state of the stream. current is true if the answer contains all
// entries that were acknowledged before the call.
func (s *logStream) streamInfo(ctx context.Context) (info *jetstream.StreamInfo, current bool, err error) {
	asked := time.Now()
	if info, err = s.stream.Info(ctx); err != nil {
		return nil, false, fmt.Errorf("request the end of the log: %w", err)
	}
	current = s.observe(info, asked)
	if current {
		s.clock.observe(info.TimeStamp)
	}
	if current {
		s.capacity.update(info)
	}
	return info, current, nil
}

// confirmedInfo returns a state of the stream that contains all entries acknowledged before
// the call. before is the position that this pod has applied.
func (s *logStream) confirmedInfo(ctx context.Context, before appliedPosition) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	info, current, err := s.streamInfo(ctx)
	switch {
	case err != nil:
		return nil, err
	case current && before.matches(info):
		return info, nil
	case !streams.HasLeader(info):
		return nil, streams.ErrUnconfirmed
	}
	info, _, err = s.barrierInfo(ctx, before.knownID())
	if err == nil && info == nil {
		err = streams.ErrUnconfirmed
	}
	return info, err
}

// barrierInfo stores a barrier entry, and returns the position of the entry and a later state
// of the stream. info is nil if NATS does not answer, or if a deposed leader answers that
// lacks the barrier entry. Only a state that contains the barrier entry proves that a log was
// replaced: during a transfer of leadership the old leader and the new leader both answer.
func (s *logStream) barrierInfo(ctx context.Context, log string) (info *jetstream.StreamInfo, seq uint64, err error) {
	if seq, err = s.appendBarrier(ctx, log); err != nil {
		return nil, 0, err
	}
	info, _, err = s.streamInfo(ctx)
	if err != nil || !streams.HasLeader(info) || info.State.LastSeq < seq {
		return nil, seq, nil //nolint:nilerr // the position is confirmed all the same
	}
	s.clock.observe(info.TimeStamp)
	s.capacity.update(info)
	return info, seq, nil
}

// appendBarrier stores an entry without commands and returns its position. NATS acknowledges
// an entry only if the leader of the stream still leads, and all entries acknowledged earlier
// have lower positions. If the id of the log is not known yet, the barrier entry carries a new
// id, which names the log if the stream is empty.
func (s *logStream) appendBarrier(ctx context.Context, log string) (uint64, error) {
	if err := s.throttleBarrier(ctx); err != nil {
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
	ack, err := s.js.Publish(ctx, subject.Log, raw)
	if err != nil {
		return 0, fmt.Errorf("confirm the end of the log: %w", err)
	}
	return ack.Sequence, nil
}

// throttleBarrier waits until barrierPause has passed since the last barrier entry.
func (s *logStream) throttleBarrier(ctx context.Context) error {
	s.mu.Lock()
	next := s.barrier.Add(barrierPause)
	if now := time.Now(); next.Before(now) {
		next = now
	}
	s.barrier = next
	s.mu.Unlock()
	select {
	case <-time.After(time.Until(next)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// observe records an answer to STREAM.INFO that was requested at the time asked, and reports
// whether the answer is current.
func (s *logStream) observe(info *jetstream.StreamInfo, asked time.Time) (current bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	current = streams.IsCurrent(info, s.leader, asked, now)
	s.leader = streams.LeaderStateOf(info, now)
	return current
}

func (s *logStream) isReplicated() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leader.Replicated
}
