package queue

import (
	"context"
	"time"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

const (
	// maxCallBytes bounds the commands that one call carries. The bound is large enough to
	// keep the number of writes low, and small enough that the next commands are encoded
	// during a write.
	maxCallBytes    = 128 << 10
	maxPendingCalls = 32 // calls of one batch that wait for the log at once
)

// AppendBatch stores commands in the order of the slice; commands of other callers may come
// between them. Each command has a result or an error of its own, at the index of the command.
func (w *writer) AppendBatch(ctx context.Context, commands []task.Command) (results []task.Result, errs []error) {
	results, errs = make([]task.Result, len(commands)), make([]error, len(commands))
	var sent []pendingCall
	await := func() {
		o := w.awaitCall(ctx, sent[0])
		for i, at := range sent[0].at {
			if errs[at] = o.err; o.err == nil {
				results[at] = o.results[i]
			}
		}
		sent = sent[1:]
	}
	var next pendingCall
	send := func() {
		if len(sent) == maxPendingCalls {
			await()
		}
		sent = append(sent, w.sendCall(ctx, next, commands[next.at[0]]))
		next = pendingCall{}
	}
	for i, c := range commands {
		crash.Before(crash.Append(c))
		raw, err := encodeCommand(c)
		if err != nil {
			errs[i] = err
			continue
		}
		if next.size += len(raw); next.size > maxCallBytes && len(next.raws) > 0 {
			send()
			next.size = len(raw)
		}
		next.raws, next.at = append(next.raws, raw), append(next.at, i)
	}
	if len(next.raws) > 0 {
		send()
	}
	for len(sent) > 0 {
		await()
	}
	for _, c := range commands {
		crash.After(crash.Append(c))
	}
	return results, errs
}

// A pendingCall carries several commands of a batch as one call.
type pendingCall struct {
	raws [][]byte
	at   []int // indexes of the commands in the batch
	size int
	call *call
	late *time.Timer
	err  error // why the call was not sent
}

// sendCall sends one part of a batch. The trace of the first command counts for the whole
// part.
func (w *writer) sendCall(ctx context.Context, p pendingCall, first task.Command) pendingCall {
	if p.err = w.store.StoreErr(); p.err != nil {
		return p
	}
	p.call, p.late = w.newCall(first, p.raws...), time.NewTimer(w.timeout)
	if !w.enqueue(ctx, p.call, p.late) {
		p.err = errFull
	}
	return p
}

func (w *writer) awaitCall(ctx context.Context, p pendingCall) outcome {
	if p.late != nil {
		defer p.late.Stop()
	}
	if p.err != nil {
		return outcome{err: p.err}
	}
	return w.awaitOutcome(ctx, p.call, p.late)
}
