package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task"
)

// STREAM.INFO is no read index by itself: a deposed leader answers it, and so does
// any member of a group that has no leader, for as long as a partition lasts
// (nats-server 2.15, server/jetstream_api.go: jsStreamInfoRequest). An answer counts
// only if no other leader can have been elected before the question was sent.
const (
	// heardWithin is how recently the leader must have heard of every replica. A
	// replica stands for election after 4 s without its leader at the earliest
	// (nats-server, server/raft.go: minElectionTimeout), and the leader sends
	// heartbeats every second. The rest of the 4 s is for answers of replicas that
	// the network delays. A quorum does not suffice: replicas vote for any
	// candidate of a higher term, whether they hear their leader or not.
	heardWithin = 2 * time.Second

	// answerWithin is how long an answer of NATS may take, and seenWithin how long
	// before the question the leader must have answered another one. A leader whose
	// process was paused for so long that another one was elected takes replies from
	// before the pause for new ones; it fails one of the two.
	answerWithin = time.Second
	seenWithin   = 2 * time.Second

	barrierPause = 50 * time.Millisecond // between two barrier entries of one pod
)

// A leaderView is what an answer to STREAM.INFO says of the leader of the stream.
type leaderView struct {
	name       string    // of its server; empty for none
	since      time.Time // of its election
	answered   time.Time // when the answer came
	replicated bool      // the stream has more than one replica
}

func viewOf(info *jetstream.StreamInfo, now time.Time) leaderView {
	v := leaderView{answered: now, replicated: info.Config.Replicas > 1}
	if c := info.Cluster; c != nil {
		v.name = c.Leader
		if c.LeaderSince != nil {
			v.since = *c.LeaderSince
		}
	}
	return v
}

func hasLeader(info *jetstream.StreamInfo) bool {
	return info.Config.Replicas <= 1 || info.Cluster != nil && info.Cluster.Leader != ""
}

// isCurrent reports whether the state in info holds every message that was
// acknowledged before the question was sent at asked. before is what the last
// answer said of the leader, and now is when this one came.
//
// What it assumes is that no message between two replicas is delayed by more than
// minElectionTimeout - heardWithin while the other direction between the two is cut,
// and that a leader that transfers its leadership stops to lead within the 10 ms
// that its successor waits before it stands for election.
func isCurrent(info *jetstream.StreamInfo, before leaderView, asked, now time.Time) bool {
	if info.Config.Replicas <= 1 {
		return true // one server has the stream
	}
	leader := viewOf(info, now)
	switch {
	case leader.name == "", leader.name != before.name, !leader.since.Equal(before.since):
		return false
	case now.Sub(asked) > answerWithin, asked.Sub(before.answered) > seenWithin:
		return false
	case len(info.Cluster.Replicas) < info.Config.Replicas-1:
		return false
	}
	// A leader that has not heard of a replica in its term reports 0.
	return !slices.ContainsFunc(info.Cluster.Replicas, func(p *jetstream.PeerInfo) bool {
		return p.Name == leader.name || p.Active <= 0 || p.Active > heardWithin
	})
}

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
	case !hasLeader(info):
		return nil, errUnconfirmed
	}
	info, _, err = l.barrierInfo(ctx, l.follower.knownID())
	if err == nil && info == nil {
		err = errUnconfirmed
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
	if err != nil || !hasLeader(info) || info.State.LastSeq < seq {
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
