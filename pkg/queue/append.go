package queue

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	maxEntry      = 900 << 10 // bytes of commands in one entry; below the 1 MiB limit of NATS, with space for the header
	maxWaiting    = 8192      // calls that wait to be written
	appendTimeout = 5 * time.Second
	retryPause    = 100 * time.Millisecond

	// lateStore is how long after the last deadline of its callers an entry may still be
	// stored with effect: buffers of NATS and of the network may delay it.
	lateStore = 2 * time.Second
)

// A writer stores commands that arrive together in one entry, so that one synced write serves
// all of them. The writer has one entry in flight. The writer sends the entry again until the
// outcome is known, or until no caller waits. The fold ignores an entry that it has seen, and
// an entry that was stored too late.
type writer struct {
	*logStream
	follower *follower
	store    EmbeddedStore
	calls    chan *call
	timeout  time.Duration // longest time that a call waits

	outage *streams.OutageLogger // of writing to the log

	mu       sync.Mutex
	id       string
	number   uint64             // number of the last entry sent
	inflight map[entryID]*batch // sent, but not both acknowledged and folded yet
	folded   uint64             // number of the last folded entry of this writer
	progress notifier           // notified when folded or inflight changes
}

// An entryID identifies an entry of this process.
type entryID struct {
	writer string
	number uint64
}

func newWriter(s *logStream, f *follower, store EmbeddedStore, timeout time.Duration) *writer {
	return &writer{
		logStream: s,
		follower:  f,
		store:     store,
		id:        newID(),
		calls:     make(chan *call, maxWaiting),
		timeout:   timeout,
		inflight:  map[entryID]*batch{},
		outage:    streams.NewOutageLogger(s.logger, "writing to the command log failed; retrying", "writing to the command log works again"),
	}
}

// newID returns 128 random bits as text.
func newID() string { return rand.Text() }

// Append stores a command. Once Append returns without error, the command is durable, every
// pod sees it at the same position, and the result is what the fold decided. The error is of
// kind problem.Unavailable, or problem.TooLarge for a command above maxEntry bytes. The text
// of an ErrUnavailable says whether nothing was stored, or whether the command may still take
// effect within seconds.
func (w *writer) Append(ctx context.Context, c task.Command) (task.Result, error) {
	crash.Before(crash.Append(c))
	defer crash.After(crash.Append(c))
	raw, err := encodeCommand(c)
	if err != nil {
		return task.Result{}, err
	}
	results, err := w.append(ctx, c, raw)
	if err != nil {
		return task.Result{}, err
	}
	return results[0], nil
}

// AppendTogether stores commands in one entry, one after the other, and returns their results.
// The error is of kind problem.TooLarge if the commands have more than maxEntry bytes together,
// and otherwise as for Append.
func (w *writer) AppendTogether(ctx context.Context, commands []task.Command) ([]task.Result, error) {
	raws, size := make([][]byte, len(commands)), 0
	crash.Before(crash.Append(commands[0]))
	defer crash.After(crash.Append(commands[0]))
	for i, c := range commands {
		raw, err := encodeCommand(c)
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > maxEntry {
			return nil, problem.New(problem.TooLarge, fmt.Sprintf("the %d commands have more bytes than the limit of %d for commands that are stored together", len(commands), maxEntry))
		}
		raws[i] = raw
	}
	return w.append(ctx, commands[0], raws...)
}

// append stores encoded commands in one entry. first is the first of the commands.
func (w *writer) append(ctx context.Context, first task.Command, raws ...[]byte) ([]task.Result, error) {
	if err := w.store.StoreErr(); err != nil {
		return nil, err
	}
	k := w.newCall(first, raws...)
	late := time.NewTimer(w.timeout)
	defer late.Stop()
	if !w.enqueue(ctx, k, late) {
		return nil, errFull
	}
	o := w.awaitOutcome(ctx, k, late)
	return o.results, o.err
}

var (
	errFull    = problem.New(problem.LogUnavailable, "too many commands wait for the command log; nothing was stored, try again")
	errNotSent = problem.New(problem.LogUnavailable, "the command log did not accept the command in time; nothing was stored, try again")
)

func encodeCommand(c task.Command) ([]byte, error) {
	raw, err := c.Encode()
	if err == nil && len(raw) > maxEntry {
		err = problem.New(problem.TooLarge, fmt.Sprintf("the command has %d bytes, more than the limit of %d", len(raw), maxEntry))
	}
	return raw, err
}

func (w *writer) enqueue(ctx context.Context, k *call, late *time.Timer) bool {
	select {
	case w.calls <- k:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// errIndeterminate returns the error for a caller that left without an outcome.
func (w *writer) errIndeterminate() error {
	const text = "the log did not answer in time; the command may have been stored and then takes effect within seconds; repeat it with the same Idempotency-Key, or check first"
	if err := w.store.StoreErr(); err != nil {
		return problem.New(problem.OutcomeUnknown, text+": "+err.Error())
	}
	return problem.New(problem.OutcomeUnknown, text)
}

// awaitOutcome waits for the outcome of a queued call. If the caller leaves before a command
// of the call was sent, awaitOutcome withdraws the call.
func (w *writer) awaitOutcome(ctx context.Context, k *call, late *time.Timer) outcome {
	select {
	case o := <-k.done:
		return o
	case <-late.C:
	case <-ctx.Done():
	}
	if k.state.Swap(callAbandoned) == callWaiting {
		return outcome{err: errNotSent}
	}
	w.progress.notify() // perhaps no caller waits for the entry now
	return outcome{err: w.errIndeterminate()}
}

func (w *writer) run(ctx context.Context) error {
	var next *call // a call that did not fit into the previous entry
	for {
		var b *batch
		b, next = w.nextBatch(ctx, next)
		if b == nil {
			return ctx.Err()
		}
		if err := w.follower.awaitIdentified(ctx); err != nil { // an entry carries the id of its log
			return err
		}
		if err := w.write(ctx, b); err != nil {
			return err
		}
	}
}

// nextBatch waits for a call, and returns it together with all other calls that wait. There is
// no timer: the next entry fills while the previous one is being written.
func (w *writer) nextBatch(ctx context.Context, first *call) (b *batch, overflow *call) {
	if first == nil {
		select {
		case first = <-w.calls:
		case <-ctx.Done():
			return nil, nil
		}
	}
	b = &batch{calls: []*call{first}}
	size := first.size
	for {
		select {
		case k := <-w.calls:
			if size += k.size; size > w.capacity.entryLimit() {
				return b, k
			}
			b.calls = append(b.calls, k)
		default:
			return b, nil
		}
	}
}

// write stores b as one entry. write returns an error if ctx ends or the entry cannot be
// encoded.
func (w *writer) write(ctx context.Context, b *batch) error {
	if err := w.rejectBeyondCapacity(ctx, b); err != nil {
		return err
	}
	if !b.markSent() {
		return nil // no call is left
	}
	entry, id := w.newEntry(b)
	raw, err := entry.Encode()
	if err != nil {
		return err
	}
	stored, err := w.publish(ctx, b, id, raw)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	w.counters.countEntry(b.commands, err)
	w.complete(id, b, stored, err)
	return nil
}

// newEntry returns the entry of b, which is the next entry of this writer.
func (w *writer) newEntry(b *batch) (task.Entry, entryID) {
	w.mu.Lock()
	w.number++
	id := entryID{w.id, w.number}
	w.inflight[id] = b
	w.mu.Unlock()
	entry := task.Entry{
		Version: task.EntryVersion, Log: w.follower.id(), Writer: id.writer, Number: id.number, Written: time.Now().UTC().Truncate(time.Millisecond),
		Commands: make([]json.RawMessage, 0, b.commands),
	}
	if now, known := w.clock.now(); known {
		entry.Until = now.Add(time.Until(b.deadline) + lateStore).UnixMilli()
	}
	for _, k := range b.calls {
		if k.trace != "" {
			entry.Traces = append(entry.Traces, task.Trace{First: len(entry.Commands), Count: len(k.raws), Parent: k.trace})
		}
		for _, raw := range k.raws {
			entry.Commands = append(entry.Commands, raw)
		}
	}
	return entry, id
}

// publish sends one entry until NATS stores it, until NATS rejects it before anything was
// stored, or until no caller waits. In the last case stored is false too, although the entry
// may be stored.
func (w *writer) publish(ctx context.Context, b *batch, id entryID, raw []byte) (stored bool, rejected error) {
	uncertain := false
	for {
		progress := w.progress.next()
		switch {
		case w.isFolded(id) && w.store.Healthy():
			return true, nil
		case b.isAbandoned():
			return false, nil
		}
		crash.Before(crash.StoreEntry)
		ack, err := w.js.Publish(ctx, subject.Log, raw)
		crash.After(crash.StoreEntry)
		switch {
		case err == nil:
			w.outage.Recovered()
			w.advance(ack.Sequence)
			return true, nil
		case ctx.Err() != nil:
			return false, ctx.Err()
		case !uncertain && isRejection(err):
			return false, err
		}
		if !isRejection(err) {
			uncertain = true
		}
		w.outage.Failed(err)
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-progress:
		case <-time.After(retryPause):
		}
	}
}

// isRejection reports whether err proves that nothing was stored: JetStream rejected the
// message, or the client sent nothing.
func isRejection(err error) bool {
	if _, ok := errors.AsType[*jetstream.APIError](err); ok {
		return true
	}
	return errors.Is(err, nats.ErrMaxPayload)
}
