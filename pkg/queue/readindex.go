package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
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

	mu      sync.Mutex
	next    *pendingRead // not sent yet; nil if nobody waits
	last    uint64       // end of the log, as far as its single writer knows
	away    bool         // the last question was not confirmed, or the follower lags
	fresh   time.Time    // when this pod last stood at a confirmed end of the log
	leader  leaderView   // by the last answer of NATS
	barrier time.Time    // when the last barrier entry was sent

	availability notifier // notified when away changes
}

// A pendingRead is one question on behalf of all reads that wait for it.
type pendingRead struct {
	done chan struct{} // closed once end or err is set
	end  uint64
	err  error
}

func newReadIndex(l *Log) *readIndex {
	return &readIndex{log: l, wake: make(chan struct{}, 1)}
}

// Sync waits until this pod has folded all that was stored before the call. If
// that takes too long, or NATS cannot confirm where the log ends, ok is false and
// age says since when the pod may lack something; until NATS confirms the end
// again no call waits any more.
func (l *Log) Sync(ctx context.Context) (age time.Duration, ok bool) {
	r := l.index
	if age, away := r.isAway(); away {
		r.ask()
		return age, false
	}
	if end, known := r.known(); known && l.follows.at() >= end {
		r.markCurrent()
		return 0, true
	}
	waiting, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	end, err := r.end(waiting)
	if err == nil {
		err = l.follows.reach(waiting, end)
	}
	switch {
	case err == nil:
		r.markCurrent()
		return 0, true
	case ctx.Err() != nil: // the caller left, which says nothing about NATS
		age, _ = r.isAway()
		return age, false
	}
	return r.markAway(), false
}

// CaughtUp waits until this pod has folded the log up to the end that it had
// when it was found, however long that takes.
func (l *Log) CaughtUp(ctx context.Context) error {
	if err := l.follows.changed.wait(ctx, l.follows.caughtUp); err != nil {
		return err
	}
	l.index.markCurrent()
	return nil
}

// IsCaughtUp reports whether this pod has folded the log up to the end that it
// had when it was found. A log that is replaced has to be found anew.
func (l *Log) IsCaughtUp() bool { return l.follows.caughtUp() }

// Lag reports for how long the log's end has not been confirmed; ok is true if
// it is.
func (l *Log) Lag() (age time.Duration, ok bool) {
	age, away := l.index.isAway()
	return age, !away
}

// AwaitAvailable blocks until the end of the log is confirmed.
func (l *Log) AwaitAvailable(ctx context.Context) error {
	return l.index.availability.wait(ctx, func() bool {
		_, away := l.index.isAway()
		return !away
	})
}

// AwaitUnavailable blocks until the end of the log could not be confirmed for
// that long without a break.
func (l *Log) AwaitUnavailable(ctx context.Context, long time.Duration) error {
	away := func() bool {
		_, away := l.index.isAway()
		return away
	}
	for {
		if err := l.index.availability.wait(ctx, away); err != nil {
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
				r.ask()
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
		r.answer(ctx, q)
		close(q.done)
		if q.err == nil {
			continue
		}
		select {
		case <-time.After(retryRead):
			r.ask() // no read waits for it, but it ends the outage
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// answer finds a position that all acknowledged entries are at or before.
func (r *readIndex) answer(ctx context.Context, q *pendingRead) {
	if q.end, q.err = r.position(ctx); q.err != nil {
		r.markAway()
		return
	}
	if _, away := r.isAway(); !away {
		return
	}
	catching, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	if r.log.follows.reach(catching, q.end) == nil {
		r.markCurrent()
	}
}

func (r *readIndex) position(ctx context.Context) (uint64, error) {
	follows := r.log.follows
	before := follows.standing() // the log can only end beyond it
	asking, cancel := context.WithTimeout(ctx, readWait)
	info, current, err := r.log.askInfo(asking)
	cancel()
	switch {
	case err != nil:
		return 0, err
	case current && before.matches(info) && (info.State.NumDeleted == 0 || before.folded >= info.State.LastSeq):
		return info.State.LastSeq, follows.noteFirst(ctx, info.State)
	case !hasLeader(info):
		return 0, errUnconfirmed
	}
	// The leader may have been deposed; or the log was replaced; or the last message
	// was deleted, and no follower reaches its position before another one comes.
	confirming, cancel := context.WithTimeout(ctx, 2*readWait)
	defer cancel()
	info, seq, err := r.log.barrierInfo(confirming, follows.knownID())
	if err != nil {
		return 0, err
	}
	if info != nil {
		err = follows.look(ctx, info, before)
	}
	return seq, err
}

// errUnconfirmed means that NATS answered where the log ends, and that another
// leader may know of more.
var errUnconfirmed = errors.New("the end of the log is not confirmed: not all replicas of the stream are in touch with its leader")

// ask returns a question that has not been sent yet, so that its answer holds
// for the caller.
func (r *readIndex) ask() *pendingRead {
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

// known returns the end of the log, if the log has a single writer.
func (r *readIndex) known() (end uint64, known bool) {
	if !r.log.config.Sole {
		return 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last, true
}

func (r *readIndex) end(ctx context.Context) (uint64, error) {
	if end, known := r.known(); known {
		return end, nil
	}
	q := r.ask()
	select {
	case <-q.done:
		return q.end, q.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// stored is called for every entry that this process stored.
func (r *readIndex) stored(seq uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = max(r.last, seq)
}

func (r *readIndex) markCurrent() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fresh = time.Now()
	if r.away {
		r.away = false
		r.availability.notify()
	}
}

func (r *readIndex) markAway() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.away {
		r.away = true
		r.availability.notify()
	}
	return time.Since(r.fresh)
}

func (r *readIndex) isAway() (age time.Duration, away bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Since(r.fresh), r.away
}

// observe takes note of an answer to STREAM.INFO that was asked for at asked, and
// reports whether the answer is current.
func (r *readIndex) observe(info *jetstream.StreamInfo, asked time.Time) (current bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	current = isCurrent(info, r.leader, asked, now)
	r.leader = viewOf(info, now)
	return current
}

func (r *readIndex) isReplicated() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leader.replicated
}
