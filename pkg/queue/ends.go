package queue

import (
	"context"
	"sync"
	"time"
)

const (
	readWait = 500 * time.Millisecond // longest that a read waits for the log's end
	askPause = 250 * time.Millisecond // between questions while nobody answers
)

// ends knows where the log ends. One question to NATS serves every read that
// began before it was sent; a sole writer need not ask at all.
type ends struct {
	log  *Log
	wake chan struct{} // has room for one: a question waits

	mu    sync.Mutex
	next  *question // not sent yet; nil if nobody waits
	last  uint64    // end of the log, as far as its sole writer knows
	away  bool      // the last question got no answer, or the follower lags
	fresh time.Time // when this pod last stood at the log's end
}

type question struct {
	done chan struct{} // closed once end or err is set
	end  uint64
	err  error
}

func newEnds(l *Log) *ends {
	return &ends{log: l, wake: make(chan struct{}, 1)}
}

// Sync waits until this pod has folded all that was stored before the call. If
// that takes too long, ok is false and age says since when the pod may lack
// something; until NATS answers again nobody waits any more.
func (l *Log) Sync(ctx context.Context) (age time.Duration, ok bool) {
	e := l.ends
	if age, away := e.isAway(); away {
		e.ask()
		return age, false
	}
	if end, known := e.known(); known && l.follows.at() >= end {
		e.stands()
		return 0, true
	}
	waiting, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	end, err := e.end(waiting)
	if err == nil {
		err = l.follows.reach(waiting, end)
	}
	switch {
	case err == nil:
		e.stands()
		return 0, true
	case ctx.Err() != nil: // the caller left, which says nothing about NATS
		age, _ = e.isAway()
		return age, false
	}
	return e.lost(), false
}

// CaughtUp waits until this pod has folded the log up to the end that it had
// when it was found, however long that takes.
func (l *Log) CaughtUp(ctx context.Context) error {
	if err := l.follows.changed.wait(ctx, l.follows.caughtUp); err != nil {
		return err
	}
	l.ends.stands()
	return nil
}

// IsCaughtUp reports whether this pod has folded the log up to the end that it
// had when it was found. A log that is replaced has to be found anew.
func (l *Log) IsCaughtUp() bool { return l.follows.caughtUp() }

// Lag reports for how long the log's end has been out of reach; ok is true if
// it is not.
func (l *Log) Lag() (age time.Duration, ok bool) {
	age, away := l.ends.isAway()
	return age, !away
}

// run asks whenever a question waits.
func (e *ends) run(ctx context.Context) error {
	for {
		select {
		case <-e.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
		e.mu.Lock()
		q := e.next
		e.next = nil
		e.mu.Unlock()
		if q == nil {
			continue
		}
		e.answer(ctx, q)
		close(q.done)
		if q.err == nil {
			continue
		}
		select {
		case <-time.After(askPause):
			e.ask() // nobody waits for it, but it ends the outage
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *ends) answer(ctx context.Context, q *question) {
	at := e.log.follows.at() // before the question: the log can only end beyond it
	info, err := e.log.info(ctx)
	if err == nil {
		err = e.log.follows.look(ctx, info, at)
	}
	if err != nil {
		q.err = err
		e.lost()
		return
	}
	q.end = info.State.LastSeq
	if _, away := e.isAway(); !away {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, readWait)
	defer cancel()
	if e.log.follows.reach(ctx, q.end) == nil {
		e.stands()
	}
}

// ask returns a question that has not been sent yet, so that its answer holds
// for the caller.
func (e *ends) ask() *question {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.next == nil {
		e.next = &question{done: make(chan struct{})}
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
	return e.next
}

// known returns the end of the log, if nobody has to be asked.
func (e *ends) known() (end uint64, known bool) {
	if !e.log.config.Sole {
		return 0, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last, true
}

func (e *ends) end(ctx context.Context) (uint64, error) {
	if end, known := e.known(); known {
		return end, nil
	}
	q := e.ask()
	select {
	case <-q.done:
		return q.end, q.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// stored is told of every entry that this process stored.
func (e *ends) stored(seq uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = max(e.last, seq)
}

func (e *ends) stands() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.away, e.fresh = false, time.Now()
}

func (e *ends) lost() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.away = true
	return time.Since(e.fresh)
}

func (e *ends) isAway() (age time.Duration, away bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return time.Since(e.fresh), e.away
}
