package queue

import (
	"context"
	"time"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

const (
	// maxCallBytes is how much of many commands goes into the log as one: enough to
	// cost few writes, and so little that the next ones are encoded meanwhile.
	maxCallBytes    = 128 << 10
	maxPendingCalls = 32 // that wait for the log at once
)

// AppendBatch is Append for many commands, which it stores in their order, though
// others may come between them. Each has its own verdict or error.
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

// A pendingCall of many commands is one call.
type pendingCall struct {
	raws [][]byte
	at   []int // their places among all
	size int
	call *call
	late *time.Timer
	err  error // why it was not sent
}

// sendCall sends a part of one request, whose first command says what asks for all.
func (w *writer) sendCall(ctx context.Context, p pendingCall, first task.Command) pendingCall {
	if p.err = w.store.Broken(); p.err != nil {
		return p
	}
	p.call, p.late = newCall(p.raws...).withTrace(first), time.NewTimer(appendTimeout)
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
