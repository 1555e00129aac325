package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// This file tracks the entries that a writer has sent, and delivers outcomes to their callers.

// A batch is the calls of one entry. Callers get their outcomes when the entry is
// acknowledged, so that it is durable, and folded, so that its results exist.
type batch struct {
	calls    []*call
	commands int       // number of commands in all calls
	deadline time.Time // latest deadline of the callers
	acked    bool
	results  []task.Result // nil until folded
}

// markSent removes the calls whose callers have left, and marks the other calls as sent.
// markSent reports whether a call remains.
func (b *batch) markSent() bool {
	b.calls = slices.DeleteFunc(b.calls, func(k *call) bool { return !k.state.CompareAndSwap(callWaiting, callSent) })
	for _, k := range b.calls {
		b.commands += len(k.raws)
		if k.deadline.After(b.deadline) {
			b.deadline = k.deadline
		}
	}
	return len(b.calls) > 0
}

// rejectBeyondCapacity removes the calls from b that the log is too full for. While the log may
// be more than half full, the writer first waits until this pod has folded its own entries.
// The pod then also knows the size of all earlier entries of other pods, so that each pod
// exceeds a limit by one entry at most.
func (w *writer) rejectBeyondCapacity(ctx context.Context, b *batch) error {
	if w.capacity.mayBeHalfFull(w.end.Load()) {
		if err := w.progress.wait(ctx, w.hasFoldedAll); err != nil {
			return err
		}
	}
	size := 0
	b.calls = slices.DeleteFunc(b.calls, func(k *call) bool {
		if err := w.capacity.check(size, k.share); err != nil {
			k.done <- outcome{err: err}
			return true
		}
		size += k.size
		return false
	})
	return nil
}

// hasFoldedAll reports whether this pod has folded all entries that it has sent.
func (w *writer) hasFoldedAll() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.inflight) == 0
}

// isAbandoned reports whether every caller has left.
func (b *batch) isAbandoned() bool {
	return !slices.ContainsFunc(b.calls, func(k *call) bool { return k.state.Load() != callAbandoned })
}

func (w *writer) isFolded(id entryID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return id.writer == w.id && w.folded >= id.number || w.inflight[id] == nil
}

// complete records that an entry is stored, was rejected, or was given up. After an entry that
// is not stored, or perhaps not stored, the writer takes a new id: the entry may still arrive
// under the old id and number.
func (w *writer) complete(id entryID, b *batch, stored bool, rejected error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inflight[id] == nil {
		return
	}
	if stored {
		b.acked = true
		w.deliver(id, b)
		return
	}
	delete(w.inflight, id)
	if rejected != nil {
		b.fail(problem.New(problem.LogUnavailable, fmt.Sprintf("the command log accepts no commands at present (%v); nothing was stored, try again later", rejected)))
	}
	if id.writer == w.id {
		w.newWriterID()
	}
}

// newWriterID gives the writer a new id, whose entry numbers begin at 1. Entries of the former
// id stay in flight. The caller holds w.mu.
func (w *writer) newWriterID() { w.id, w.number, w.folded = newID(), 0, 0 }

// fold delivers the results of each entry that this pod folded.
func (w *writer) fold(e task.Entry, results []task.Result) {
	w.mu.Lock()
	defer w.mu.Unlock()
	id := entryID{e.Writer, e.Number}
	b := w.inflight[id]
	if e.Writer != w.id && b == nil {
		return
	}
	if slices.ContainsFunc(results, isUnknownWriter) && (e.Writer != w.id || e.Number > w.folded) {
		w.failInflight(errReplacedNotStored) // the fold rejects the later entries of this writer too
		return
	}
	if e.Writer == w.id {
		w.folded = max(w.folded, e.Number)
	}
	w.progress.notify()
	switch {
	case b == nil || len(results) != b.commands:
	case slices.ContainsFunc(results, isExpired):
		w.expire(id, b, e.Time)
	default:
		b.results = results
		w.deliver(id, b)
	}
}

// expire sends the commands of an entry again that was stored too late, for callers that still
// wait. A late entry of this kind means that the clock of NATS has changed. The caller holds
// w.mu.
func (w *writer) expire(id entryID, b *batch, stamp time.Time) {
	delete(w.inflight, id)
	w.clock.reset(stamp)
	for _, k := range b.calls {
		if !k.state.CompareAndSwap(callSent, callWaiting) {
			continue
		}
		select {
		case w.calls <- k:
		default:
			k.done <- outcome{err: errFull}
		}
	}
}

func isUnknownWriter(v task.Result) bool { return v.Rejection == task.RejectedUnknownWriter }
func isExpired(v task.Result) bool       { return v.Rejection == task.RejectedExpired }

var (
	errReplacedNotStored     = problem.New(problem.LogUnavailable, "the command log was replaced during the request; nothing was stored, try again")
	errReplacedIndeterminate = problem.New(problem.OutcomeUnknown, "the command log was replaced during the request; the command may have been stored, check before you repeat it")
)

// onLogReplaced fails the entries in flight. The follower calls it when another log has
// replaced the log of these entries, or when the log lacks a part that this pod has not read.
func (w *writer) onLogReplaced() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failInflight(errReplacedIndeterminate)
}

// onSnapshotRestored completes the entries in flight that the snapshot contains. The follower
// calls it after machine restored a snapshot in place of reading the entries.
func (w *writer) onSnapshotRestored(machine StateMachine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if number, _ := machine.Written(w.id); number > w.folded { // entries after the snapshot will be folded again
		w.folded = number
	}
	w.progress.notify()
	for id, b := range w.inflight {
		number, results := machine.Written(id.writer)
		switch {
		case id.number < number:
			delete(w.inflight, id)
			b.fail(errReplacedIndeterminate)
		case id.number == number && slices.ContainsFunc(results, isExpired):
			delete(w.inflight, id)
			b.fail(errNotSent)
		case id.number == number && len(results) == b.commands:
			b.results = results
			w.deliver(id, b)
		}
	}
}

// failInflight fails all entries in flight with err, and gives the writer a new id. The
// entries in flight will not be folded: the fold accepts a number only if it knows the first
// entry of the writer. The caller holds w.mu.
func (w *writer) failInflight(err error) {
	for id, b := range w.inflight {
		delete(w.inflight, id)
		b.fail(err)
	}
	w.newWriterID()
	w.progress.notify()
}

func (w *writer) deliver(id entryID, b *batch) {
	if !b.acked || b.results == nil {
		return
	}
	delete(w.inflight, id)
	remaining := b.results
	for _, k := range b.calls {
		k.done <- outcome{results: remaining[:len(k.raws):len(k.raws)]}
		remaining = remaining[len(k.raws):]
	}
}

func (b *batch) fail(err error) {
	for _, k := range b.calls {
		k.done <- outcome{err: err}
	}
}
