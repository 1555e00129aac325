package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/task"
)

const (
	maxEntry      = 900 << 10 // bytes of commands in one entry, below NATS' 1 MiB with room for the header
	maxWaiting    = 8192      // commands that wait for their turn to be written
	appendTimeout = 5 * time.Second
	retryPause    = 100 * time.Millisecond
)

// A writer puts commands that come together into shared entries: one synced
// write serves all of them. It keeps one entry in flight and repeats it until
// it knows what became of it; the fold ignores what it has seen.
type writer struct {
	log   *Log
	id    string
	calls chan *call

	outage outage // of its writing

	mu       sync.Mutex
	number   uint64            // of the last entry sent
	inflight map[uint64]*batch // by number: written or folded, but not both yet
	folded   uint64            // number of the last entry of ours that was folded
	progress notifier          // notified when folded grows
}

// A call is commands on their way that stay together.
type call struct {
	raws [][]byte
	size int          // bytes of them in an entry
	from string       // span that asks for them, as task.Submit has it; empty if none
	done chan outcome // has room for the one outcome
}

// An outcome is a verdict for each command, or why there is none.
type outcome struct {
	verdicts []task.Verdict
	err      error
}

func newCall(raws ...[]byte) *call {
	k := &call{raws: raws, done: make(chan outcome, 1)}
	for _, raw := range raws {
		k.size += len(raw) + len(",")
	}
	return k
}

// traceSize is what a task.Trace takes in an entry, but for its parent.
const traceSize = len(`{"first":100000,"count":100000,"parent":""},`)

// tracedBy notes what asks for a submission, which the entry will say.
func (k *call) tracedBy(c task.Command) *call {
	if c.Submit != nil && c.Submit.Trace != "" {
		k.from = c.Submit.Trace
		k.size += traceSize + len(k.from)
	}
	return k
}

// A batch is the calls of one entry. Its callers hear when it is both
// acknowledged, so that it will last, and folded, so that its verdicts exist.
type batch struct {
	calls    []*call
	commands int // of them all
	acked    bool
	verdicts []task.Verdict // nil until folded
}

func newWriter(l *Log) *writer {
	return &writer{
		log:      l,
		id:       newID(),
		calls:    make(chan *call, maxWaiting),
		inflight: map[uint64]*batch{},
		outage:   outage{log: l.config.Logger, what: "the log does not take an entry, which is repeated until it does"},
	}
}

// newID returns 128 random bits as text.
func newID() string { return rand.Text() }

// Append stores a command. Once it returns without error, the command will
// last, every pod will see it at the same place in the order, and the verdict
// is what that order made of it. The error is of kind task.ErrUnavailable and
// says whether the command may have been stored all the same.
func (l *Log) Append(ctx context.Context, c task.Command) (task.Verdict, error) {
	crash.Before(crash.Append(c))
	defer crash.After(crash.Append(c))
	raw, err := encoded(c)
	if err != nil {
		return task.Verdict{}, err
	}
	if err := l.Broken(); err != nil {
		return task.Verdict{}, err
	}
	k := newCall(raw).tracedBy(c)
	late := time.NewTimer(appendTimeout)
	defer late.Stop()
	if !l.writer.send(ctx, k, late) {
		return task.Verdict{}, errFull
	}
	o := l.outcome(ctx, k, late)
	if o.err != nil {
		return task.Verdict{}, o.err
	}
	return o.verdicts[0], nil
}

var errFull = task.Error(task.ErrUnavailable, "the log takes no more commands at present; nothing was stored, try again")

func encoded(c task.Command) ([]byte, error) {
	raw, err := c.Encode()
	if err == nil && len(raw) > maxEntry {
		err = task.Error(task.ErrTooLarge, fmt.Sprintf("the command has %d bytes, at most %d are stored", len(raw), maxEntry))
	}
	return raw, err
}

func (w *writer) send(ctx context.Context, k *call, late *time.Timer) bool {
	select {
	case w.calls <- k:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// outcome waits for what becomes of a call that was sent.
func (l *Log) outcome(ctx context.Context, k *call, late *time.Timer) outcome {
	select {
	case o := <-k.done:
		return o
	case <-late.C:
	case <-ctx.Done():
	}
	return outcome{err: l.uncertain()}
}

func (w *writer) run(ctx context.Context) error {
	var next *call // did not fit into the entry before
	for {
		var b *batch
		b, next = w.take(ctx, next)
		if b == nil {
			return ctx.Err()
		}
		if err := w.log.follows.await(ctx); err != nil { // an entry says for which log it is
			return err
		}
		if err := w.write(ctx, b); err != nil {
			return err
		}
	}
}

// take waits for a command and returns it with all others that wait too. There
// is no timer: while one entry is being written, the next one fills.
func (w *writer) take(ctx context.Context, first *call) (b *batch, rest *call) {
	if first == nil {
		select {
		case first = <-w.calls:
		case <-ctx.Done():
			return nil, nil
		}
	}
	b = &batch{calls: []*call{first}, commands: len(first.raws)}
	size := first.size
	for {
		select {
		case k := <-w.calls:
			if size += k.size; size > maxEntry {
				return b, k
			}
			b.calls = append(b.calls, k)
			b.commands += len(k.raws)
		default:
			return b, nil
		}
	}
}

// write stores b as one entry. It returns an error only if ctx ended.
func (w *writer) write(ctx context.Context, b *batch) error {
	w.mu.Lock()
	w.number++
	id, number := w.id, w.number
	w.inflight[number] = b
	w.mu.Unlock()

	entry := task.Entry{
		Version: task.EntryVersion, Log: w.log.follows.id(), Writer: id, Number: number,
		Commands: make([]json.RawMessage, 0, b.commands),
	}
	for _, k := range b.calls {
		if k.from != "" {
			entry.Traces = append(entry.Traces, task.Trace{First: len(entry.Commands), Count: len(k.raws), Parent: k.from})
		}
		for _, raw := range k.raws {
			entry.Commands = append(entry.Commands, raw)
		}
	}
	raw, err := entry.Encode()
	if err != nil {
		return err
	}
	rejected, err := w.publish(ctx, number, raw)
	if err != nil {
		return err
	}
	w.log.figures.wrote(len(b.calls), rejected)
	w.settle(number, rejected)
	return nil
}

// publish sends one entry until it is stored, or rejected before anything was
// stored. Between those two lies only waiting: who gives up here would not know.
func (w *writer) publish(ctx context.Context, number uint64, raw []byte) (rejected, err error) {
	uncertain := false
	for {
		folded := w.progress.next()
		if w.isFolded(number) && w.log.sound() {
			return nil, nil
		}
		crash.Before(crash.StoreEntry)
		ack, err := w.log.js.Publish(ctx, logSubject, raw)
		crash.After(crash.StoreEntry)
		switch {
		case err == nil:
			w.outage.over()
			w.log.ends.stored(ack.Sequence)
			w.log.room.bytes.Add(int64(len(raw) + overhead))
			return nil, nil
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !uncertain && isRejection(err):
			return err, nil
		}
		if !isRejection(err) {
			uncertain = true
		}
		w.outage.goesOn(err)
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-folded:
		case <-time.After(retryPause):
		}
	}
}

// isRejection reports whether err is JetStream's word that nothing was stored.
func isRejection(err error) bool {
	_, ok := errors.AsType[*jetstream.APIError](err)
	return ok
}
