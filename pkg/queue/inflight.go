package queue

import (
	"fmt"
	"slices"

	"k8s-cli/pkg/task"
)

// What becomes of the entries that a writer has sent, and who hears of it.

func (w *writer) isFolded(number uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.folded >= number
}

// settle notes that entry number is stored, or was rejected: then its number
// is free for the next one.
func (w *writer) settle(number uint64, rejected error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	b := w.inflight[number]
	if b == nil {
		return
	}
	if rejected != nil {
		w.number--
		delete(w.inflight, number)
		b.fail(task.Error(task.ErrUnavailable, fmt.Sprintf("the log takes no more commands at present (%v); nothing was stored, try again later", rejected)))
		return
	}
	b.acked = true
	w.answer(number, b)
}

// fold is told of every entry that this pod folded.
func (w *writer) fold(e task.Entry, verdicts []task.Verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Writer != w.id {
		return
	}
	if e.Number > w.folded && slices.ContainsFunc(verdicts, isStray) {
		w.begin(errNotTaken) // the entries after this one will not be taken either
		return
	}
	w.folded = max(w.folded, e.Number)
	w.progress.notify()
	if b := w.inflight[e.Number]; b != nil && len(verdicts) == b.commands {
		b.verdicts = verdicts
		w.answer(e.Number, b)
	}
}

func isStray(v task.Verdict) bool { return v.Refusal == task.RefusedStray }

var (
	errNotTaken = task.Error(task.ErrUnavailable, "the log was replaced meanwhile; nothing was stored, try again")
	errUnclear  = task.Error(task.ErrUnavailable, "the log was replaced meanwhile; the command may have been accepted, look before you repeat it")
)

// renew is told that another log took the place of the one written to, or that
// the log lacks a part that this pod has not read.
func (w *writer) renew() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begin(errUnclear)
}

// resume is told that the log was not read entry by entry, but from a snapshot
// that folder has: what is in it of this writer is folded.
func (w *writer) resume(folder Folder) {
	w.mu.Lock()
	defer w.mu.Unlock()
	number, verdicts := folder.Written(w.id)
	if number < w.folded { // what comes after the snapshot will be folded again
		return
	}
	w.folded = number
	w.progress.notify()
	for n, b := range w.inflight {
		switch {
		case n < number:
			delete(w.inflight, n)
			b.fail(errUnclear)
		case n == number && len(verdicts) == b.commands:
			b.verdicts = verdicts
			w.answer(n, b)
		}
	}
}

// begin makes the writer a new one: no fold takes a number of a writer whose
// first entry it has not seen. What is in flight will not be folded; its callers
// get err. It is called with the lock held.
func (w *writer) begin(err error) {
	for number, b := range w.inflight {
		delete(w.inflight, number)
		b.fail(err)
	}
	w.id, w.number, w.folded = newID(), 0, 0
	w.progress.notify()
}

func (w *writer) answer(number uint64, b *batch) {
	if !b.acked || b.verdicts == nil {
		return
	}
	delete(w.inflight, number)
	rest := b.verdicts
	for _, k := range b.calls {
		k.done <- outcome{verdicts: rest[:len(k.raws):len(k.raws)]}
		rest = rest[len(k.raws):]
	}
}

func (b *batch) fail(err error) {
	for _, k := range b.calls {
		k.done <- outcome{err: err}
	}
}
