package queue

import (
	"context"
	"time"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

const (
	// partBytes is how much of many commands goes into the log as one: enough to
	// cost few writes, and so little that the next ones are encoded meanwhile.
	partBytes = 128 << 10
	partsSent = 32 // that wait for the log at once
)

// AppendAll is Append for many commands, which it stores in their order, though
// others may come between them. Each has its own verdict or error.
func (l *Log) AppendAll(ctx context.Context, commands []task.Command) (verdicts []task.Verdict, errs []error) {
	verdicts, errs = make([]task.Verdict, len(commands)), make([]error, len(commands))
	var sent []part
	end := func() {
		o := l.end(ctx, sent[0])
		for i, at := range sent[0].at {
			if errs[at] = o.err; o.err == nil {
				verdicts[at] = o.verdicts[i]
			}
		}
		sent = sent[1:]
	}
	var next part
	begin := func() {
		if len(sent) == partsSent {
			end()
		}
		sent = append(sent, l.begin(ctx, next, commands[next.at[0]]))
		next = part{}
	}
	for i, c := range commands {
		crash.Before(crash.Append(c))
		raw, err := encoded(c)
		if err != nil {
			errs[i] = err
			continue
		}
		if next.size += len(raw); next.size > partBytes && len(next.raws) > 0 {
			begin()
			next.size = len(raw)
		}
		next.raws, next.at = append(next.raws, raw), append(next.at, i)
	}
	if len(next.raws) > 0 {
		begin()
	}
	for len(sent) > 0 {
		end()
	}
	for _, c := range commands {
		crash.After(crash.Append(c))
	}
	return verdicts, errs
}

// A part of many commands is one call.
type part struct {
	raws [][]byte
	at   []int // their places among all
	size int
	call *call
	late *time.Timer
	err  error // why it was not sent
}

// begin sends a part of one request, whose first command says what asks for all.
func (l *Log) begin(ctx context.Context, p part, first task.Command) part {
	if p.err = l.Broken(); p.err != nil {
		return p
	}
	p.call, p.late = newCall(p.raws...).tracedBy(first), time.NewTimer(appendTimeout)
	if !l.writer.send(ctx, p.call, p.late) {
		p.err = errFull
	}
	return p
}

func (l *Log) end(ctx context.Context, p part) outcome {
	if p.late != nil {
		defer p.late.Stop()
	}
	if p.err != nil {
		return outcome{err: p.err}
	}
	return l.outcome(ctx, p.call, p.late)
}
