package queue

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/change"
	"k8s-cli/pkg/queue/streams"
)

const (
	readWait     = 500 * time.Millisecond // longest that a read waits for the read index
	retryRead    = 250 * time.Millisecond // between questions while the read index cannot be confirmed
	pollInterval = time.Second            // between questions while nobody reads, if the log has replicas
)

// A readIndex knows the position that the follower must have applied before this
// pod may answer: all that was acknowledged before the question. One question to
// NATS serves every read that began before it was sent; a single writer need not
// ask at all.
type readIndex struct {
	log  *Log
	wake chan struct{} // has room for one: a question waits

	mu          sync.Mutex
	next        *pendingRead // not sent yet; nil if nobody waits
	last        uint64       // end of the log, as far as its single writer knows
	unavailable bool         // the last question was not confirmed, or the follower lags
	lastCurrent time.Time    // when this pod last stood at a confirmed end of the log
	leader      streams.View // by the last answer of NATS
	barrier     time.Time    // when the last barrier entry was sent

	availability change.Notifier // notified when unavailable changes
}

// A pendingRead is one question on behalf of all reads that wait for it.
type pendingRead struct {
	done  chan struct{} // closed once end or err is set
	index uint64
	err   error
}

func newReadIndex(l *Log) *readIndex {
	return &readIndex{log: l, wake: make(chan struct{}, 1)}
}

// WaitReadIndex waits until this pod has folded all that was stored before the call. If
// that takes too long, or NATS cannot confirm where the log ends, ok is false and
// age says since when the pod may lack something; until NATS confirms the end
// again no call waits any more.
func (l *Log) WaitReadIndex(ctx context.Context) (age time.Duration, ok bool) {
	r := l.index
	if age, unavailable := r.isUnavailable(); unavailable {
		r.request()
		return age, false
	}
	if end, known := r.localEnd(); known && l.follower.applied() >= end {
		r.markCurrent()
		return 0, true
	}
	waiting, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	end, err := r.await(waiting)
	if err == nil {
		err = l.follower.waitApplied(waiting, end)
	}
	switch {
	case err == nil:
		r.markCurrent()
		return 0, true
	case ctx.Err() != nil: // the caller left, which says nothing about NATS
		age, _ = r.isUnavailable()
		return age, false
	}
	return r.markUnavailable(), false
}

// CaughtUp waits until this pod has folded the log up to the end that it had
// when it was found, however long that takes.
func (l *Log) CaughtUp(ctx context.Context) error {
	if err := l.follower.changed.Wait(ctx, l.follower.caughtUp); err != nil {
		return err
	}
	l.index.markCurrent()
	return nil
}

// IsCaughtUp reports whether this pod has folded the log up to the end that it
// had when it was found. A log that is replaced has to be found anew.
func (l *Log) IsCaughtUp() bool { return l.follower.caughtUp() }

// Lag reports for how long the log's end has not been confirmed; ok is true if
// it is.
func (l *Log) Lag() (age time.Duration, ok bool) {
	age, unavailable := l.index.isUnavailable()
	return age, !unavailable
}

// AwaitAvailable blocks until the end of the log is confirmed.
func (l *Log) AwaitAvailable(ctx context.Context) error {
	return l.index.availability.Wait(ctx, func() bool {
		_, unavailable := l.index.isUnavailable()
		return !unavailable
	})
}

// AwaitUnavailable blocks until the end of the log could not be confirmed for
// that long without a break.
func (l *Log) AwaitUnavailable(ctx context.Context, long time.Duration) error {
	unavailable := func() bool {
		_, unavailable := l.index.isUnavailable()
		return unavailable
	}
	for {
		if err := l.index.availability.Wait(ctx, unavailable); err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, long)
		err := l.AwaitAvailable(waiting)
		cancel()
		if err != nil {
			return ctx.Err() // nil if only the wait is over
		}
	}
}

// run asks whenever a read waits, and every now and then if another leader of the
// stream could have been elected meanwhile.
func (r *readIndex) run(ctx context.Context) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	for {
		select {
		case <-r.wake:
		case <-poll.C:
			if r.isReplicated() {
				r.request()
			}
			continue
		case <-ctx.Done():
			return ctx.Err()
		}
		r.mu.Lock()
		q := r.next
		r.next = nil
		r.mu.Unlock()
		if q == nil {
			continue
		}
		r.resolve(ctx, q)
		close(q.done)
		if q.err == nil {
			continue
		}
		select {
		case <-time.After(retryRead):
			r.request() // no read waits for it, but it ends the outage
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// resolve finds a position that all acknowledged entries are at or before.
func (r *readIndex) resolve(ctx context.Context, q *pendingRead) {
	if q.index, q.err = r.position(ctx); q.err != nil {
		r.markUnavailable()
		return
	}
	if _, unavailable := r.isUnavailable(); !unavailable {
		return
	}
	catching, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	if r.log.follower.waitApplied(catching, q.index) == nil {
		r.markCurrent()
	}
}

func (r *readIndex) position(ctx context.Context) (uint64, error) {
	follower := r.log.follower
	before := follower.appliedPosition() // the log can only end beyond it
	asking, cancel := context.WithTimeout(ctx, readWait)
	info, current, err := r.log.streamInfo(asking)
	cancel()
	switch {
	case err != nil:
		return 0, err
	case current && before.matches(info) && (info.State.NumDeleted == 0 || before.folded >= info.State.LastSeq):
		return info.State.LastSeq, follower.updateFirst(ctx, info.State)
	case !streams.HasLeader(info):
		return 0, streams.ErrUnconfirmed
	}
	// The leader may have been deposed; or the log was replaced; or the last message
	// was deleted, and no follower reaches its position before another one comes.
	confirming, cancel := context.WithTimeout(ctx, 2*readWait)
	defer cancel()
	info, seq, err := r.log.barrierInfo(confirming, follower.knownID())
	if err != nil {
		return 0, err
	}
	if info != nil {
		err = follower.restartIfReplaced(ctx, info, before)
	}
	return seq, err
}

// request returns a question that has not been sent yet, so that its answer holds
// for the caller.
func (r *readIndex) request() *pendingRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.next == nil {
		r.next = &pendingRead{done: make(chan struct{})}
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return r.next
}

// localEnd returns the end of the log, if the log has a single writer.
func (r *readIndex) localEnd() (end uint64, known bool) {
	if !r.log.config.SingleWriter {
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, true
}

func (r *readIndex) await(ctx context.Context) (uint64, error) {
	if end, known := r.localEnd(); known {
		return end, nil
	}
	q := r.request()
	select {
	case <-q.done:
		return q.index, q.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// advance is called for every entry that this process stored.
func (r *readIndex) advance(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, seq)
}

func (r *readIndex) markCurrent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastCurrent = time.Now()
	if r.unavailable {
		r.unavailable = false
		r.availability.Notify()
	}
}

func (r *readIndex) markUnavailable() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.unavailable {
		r.unavailable = true
		r.availability.Notify()
	}
	return time.Since(r.lastCurrent)
}

func (r *readIndex) isUnavailable() (age time.Duration, unavailable bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.lastCurrent), r.unavailable
}

// observe takes note of an answer to STREAM.INFO that was asked for at asked, and
// reports whether the answer is current.
func (r *readIndex) observe(info *jetstream.StreamInfo, asked time.Time) (current bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	current = streams.IsCurrent(info, r.leader, asked, now)
	r.leader = streams.ViewOf(info, now)
	return current
}

func (r *readIndex) isReplicated() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leader.Replicated
}
