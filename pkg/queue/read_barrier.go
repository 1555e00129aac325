package queue

import (
	"context"
	"sync"
	"time"

	"k8s-cli/pkg/queue/streams"
)

const (
	readWait     = 500 * time.Millisecond // longest time that a read waits for the read index
	retryRead    = 250 * time.Millisecond // pause between requests while the read index cannot be confirmed
	pollInterval = time.Second            // pause between requests while no read waits, if the log has replicas
)

// A readIndex finds the position that the follower must have applied before this pod may
// answer a read: the end of all entries that were acknowledged before the read began. One
// request to NATS serves every read that began before the request was sent. A single writer
// knows the end of the log without a request.
type readIndex struct {
	*logStream
	follower     *follower
	singleWriter bool

	wake chan struct{} // buffered for one signal: a request waits to be sent

	mu          sync.Mutex
	next        *pendingRead // not sent yet; nil if no read waits
	unavailable bool         // the last request was not confirmed, or the follower lags
	lastCurrent time.Time    // when this pod had last applied a confirmed end of the log

	availability notifier // notified when unavailable changes
}

// A pendingRead is one request on behalf of all reads that wait for the read index.
type pendingRead struct {
	done  chan struct{} // closed once index or err is set
	index uint64
	err   error
}

func newReadIndex(s *logStream, f *follower, singleWriter bool) *readIndex {
	return &readIndex{logStream: s, follower: f, singleWriter: singleWriter, wake: make(chan struct{}, 1)}
}

// WaitReadIndex waits until this pod has folded all entries that were stored before the call.
// If waiting takes longer than readWait, or NATS cannot confirm the end of the log, ok is
// false and age is the time since this pod was last known to be current. From then on calls
// return without waiting, until NATS confirms the end again.
func (r *readIndex) WaitReadIndex(ctx context.Context) (age time.Duration, ok bool) {
	if age, unavailable := r.isUnavailable(); unavailable {
		r.request()
		return age, false
	}
	if end, known := r.localEnd(); known && r.follower.applied() >= end {
		r.markCurrent()
		return 0, true
	}
	waiting, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	end, err := r.await(waiting)
	if err == nil {
		err = r.follower.waitApplied(waiting, end)
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

// WaitCaughtUp waits without a time limit until this pod has folded all entries that the log
// contained when the log was first identified.
func (r *readIndex) WaitCaughtUp(ctx context.Context) error {
	if err := r.follower.changed.wait(ctx, r.follower.caughtUp); err != nil {
		return err
	}
	r.markCurrent()
	return nil
}

// Lag reports for how long the end of the log has not been confirmed; ok is true if the end is
// confirmed.
func (r *readIndex) Lag() (age time.Duration, ok bool) {
	age, unavailable := r.isUnavailable()
	return age, !unavailable
}

// AwaitAvailable blocks until the end of the log is confirmed.
func (r *readIndex) AwaitAvailable(ctx context.Context) error {
	return r.availability.wait(ctx, func() bool {
		_, unavailable := r.isUnavailable()
		return !unavailable
	})
}

// AwaitUnavailable blocks until the end of the log has been unconfirmed for the whole duration
// long.
func (r *readIndex) AwaitUnavailable(ctx context.Context, long time.Duration) error {
	unavailable := func() bool {
		_, unavailable := r.isUnavailable()
		return unavailable
	}
	for {
		if err := r.availability.wait(ctx, unavailable); err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, long)
		err := r.AwaitAvailable(waiting)
		cancel()
		if err != nil {
			return ctx.Err() // ctx.Err() is nil if only waiting has expired
		}
	}
}

// run sends a request whenever a read waits. If the stream has replicas, run also sends a
// request each pollInterval, because NATS may have elected another leader of the stream.
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
			r.request() // no read waits, but the answer can end the outage
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// resolve finds a position at or after all acknowledged entries.
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
	if r.follower.waitApplied(catching, q.index) == nil {
		r.markCurrent()
	}
}

func (r *readIndex) position(ctx context.Context) (uint64, error) {
	before := r.follower.appliedPosition() // the end of the log can only be at or after the applied position
	asking, cancel := context.WithTimeout(ctx, readWait)
	info, current, err := r.streamInfo(asking)
	cancel()
	switch {
	case err != nil:
		return 0, err
	case current && before.matches(info) && (info.State.NumDeleted == 0 || before.folded >= info.State.LastSeq):
		return info.State.LastSeq, r.follower.updateFirst(ctx, info.State)
	case !streams.HasLeader(info):
		return 0, streams.ErrUnconfirmed
	}
	// The leader may have been deposed; or the log was replaced; or the last message was
	// deleted, and no follower reaches its position before another message arrives.
	confirming, cancel := context.WithTimeout(ctx, 2*readWait)
	defer cancel()
	info, seq, err := r.barrierInfo(confirming, before.knownID())
	if err != nil {
		return 0, err
	}
	if info != nil {
		err = r.follower.restartIfReplaced(ctx, info, before)
	}
	return seq, err
}

// request returns a pendingRead that has not been sent yet, so that its answer covers the
// caller's read.
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

// localEnd returns the end of the log; known is true if the log has a single writer.
func (r *readIndex) localEnd() (end uint64, known bool) {
	return r.end.Load(), r.singleWriter
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

func (r *readIndex) markCurrent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lastCurrent = time.Now()
	if r.unavailable {
		r.unavailable = false
		r.availability.notify()
	}
}

func (r *readIndex) markUnavailable() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.unavailable {
		r.unavailable = true
		r.availability.notify()
	}
	return time.Since(r.lastCurrent)
}

func (r *readIndex) isUnavailable() (age time.Duration, unavailable bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.lastCurrent), r.unavailable
}
