package queue

import (
	"context"
	"sync"
	"time"

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
	*logStream
	follower     *follower
	singleWriter bool

	wake chan struct{} // has room for one: a question waits

	mu          sync.Mutex
	next        *pendingRead // not sent yet; nil if nobody waits
	unavailable bool         // the last question was not confirmed, or the follower lags
	lastCurrent time.Time    // when this pod last stood at a confirmed end of the log

	availability change.Notifier // notified when unavailable changes
}

// A pendingRead is one question on behalf of all reads that wait for it.
type pendingRead struct {
	done  chan struct{} // closed once end or err is set
	index uint64
	err   error
}

func newReadIndex(s *logStream, f *follower, singleWriter bool) *readIndex {
	return &readIndex{logStream: s, follower: f, singleWriter: singleWriter, wake: make(chan struct{}, 1)}
}

// WaitReadIndex waits until this pod has folded all that was stored before the call. If
// that takes too long, or NATS cannot confirm where the log ends, ok is false and
// age says since when the pod may lack something; until NATS confirms the end
// again no call waits any more.
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

// CaughtUp waits until this pod has folded the log up to the end that it had
// when it was found, however long that takes.
func (r *readIndex) CaughtUp(ctx context.Context) error {
	if err := r.follower.changed.Wait(ctx, r.follower.caughtUp); err != nil {
		return err
	}
	r.markCurrent()
	return nil
}

// Lag reports for how long the log's end has not been confirmed; ok is true if
// it is.
func (r *readIndex) Lag() (age time.Duration, ok bool) {
	age, unavailable := r.isUnavailable()
	return age, !unavailable
}

// AwaitAvailable blocks until the end of the log is confirmed.
func (r *readIndex) AwaitAvailable(ctx context.Context) error {
	return r.availability.Wait(ctx, func() bool {
		_, unavailable := r.isUnavailable()
		return !unavailable
	})
}

// AwaitUnavailable blocks until the end of the log could not be confirmed for
// that long without a break.
func (r *readIndex) AwaitUnavailable(ctx context.Context, long time.Duration) error {
	unavailable := func() bool {
		_, unavailable := r.isUnavailable()
		return unavailable
	}
	for {
		if err := r.availability.Wait(ctx, unavailable); err != nil {
			return err
		}
		waiting, cancel := context.WithTimeout(ctx, long)
		err := r.AwaitAvailable(waiting)
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
	if r.follower.waitApplied(catching, q.index) == nil {
		r.markCurrent()
	}
}

func (r *readIndex) position(ctx context.Context) (uint64, error) {
	before := r.follower.appliedPosition() // the log can only end beyond it
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
	// The leader may have been deposed; or the log was replaced; or the last message
	// was deleted, and no follower reaches its position before another one comes.
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
