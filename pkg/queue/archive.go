package queue

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

// Entries that are cut from the log live on in the archive as long as a task is
// answered for that was submitted in them: as what, somebody asks seldom, so that
// neither memory nor snapshots hold it.

var submissionsKind = blob.Kind{
	Bucket: "SUBMISSIONS",
	Name:   "log archive",
	About:  "compacted entries of the log with the submissions of tasks in the history",
}

const (
	archiveLimit      = 256 << 20 // bytes of it all: the submissions of some 300,000 tasks
	archivePartBytes  = 4 << 20   // bytes of entries in one object
	maxArchiveReaders = 4         // that look into the archive at once; others wait
	firstHeader       = "First"   // metadata: sequence of the first entry in it
	lastHeader        = "Last"    // metadata: sequence of the last entry in it
)

// A partStore stores the parts of the archive. It may lose the oldest.
type partStore interface {
	Store(ctx context.Context, name string, about map[string]string, part []byte) error
	Open(ctx context.Context, name string) (io.Reader, error) // task.ErrNotFound if it is not there
	List(ctx context.Context) (about map[string]map[string]string, err error)
	Remove(ctx context.Context, name string) error // no error if it is not there
}

// An archive keeps submissions that were cut from the log.
type archive struct {
	*logStream
	follower *follower
	parts    partStore
	readers  chan struct{} // holds one for each that looks into the archive
	timeout  time.Duration // for all that goes there before one cut
}

func newArchive(s *logStream, f *follower, parts partStore) *archive {
	return &archive{logStream: s, follower: f, parts: parts, readers: make(chan struct{}, maxArchiveReaders), timeout: storeTimeout / 2}
}

// Submission returns a task as it was submitted in the entry at seq, with
// task.Redacted in place of each secret. The error is of kind task.ErrNotFound if
// that is not known any more, and task.ErrUnavailable if it cannot be read now.
func (a *archive) Submission(ctx context.Context, seq uint64, id string) (task.Spec, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	raw, err := a.entry(ctx, seq)
	if err != nil {
		return task.Spec{}, task.Error(task.ErrUnavailable, fmt.Sprintf("the submission of task %s cannot be read at present (%v); try again", id, err))
	}
	if raw != nil {
		e, err := task.DecodeEntry(raw)
		if err != nil {
			return task.Spec{}, fmt.Errorf("read the submission of task %s: %w", id, err)
		}
		for _, raw := range e.Commands {
			if c, err := task.DecodeCommand(raw); err == nil && c.Submit != nil && c.Submit.ID == id {
				return c.Submit.Task, nil
			}
		}
	}
	return task.Spec{}, task.Error(task.ErrNotFound, fmt.Sprintf("the submission of task %s is no longer available", id))
}

// entry returns an entry of the log or of its archive, nil if neither has it.
func (a *archive) entry(ctx context.Context, seq uint64) ([]byte, error) {
	asking, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	message, err := a.stream.GetMsg(asking, seq)
	if err == nil {
		return message.Data, nil
	}
	if !errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, err
	}
	if raw, err := a.storedEntry(ctx, seq); raw != nil || err != nil {
		return raw, err
	}
	info, err := a.confirmedInfo(ctx, a.follower.appliedPosition())
	if err == nil && seq >= info.State.FirstSeq && seq <= info.State.LastSeq && info.State.NumDeleted == 0 {
		err = streams.ErrUnconfirmed // the leader that answered was deposed
	}
	return nil, err
}

func (a *archive) storedEntry(ctx context.Context, seq uint64) ([]byte, error) {
	select {
	case a.readers <- struct{}{}:
		defer func() { <-a.readers }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	parts, err := a.storedParts(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		if p.log != a.follower.id() || seq < p.first || seq > p.last {
			continue
		}
		lines, err := a.parts.Open(ctx, p.name)
		if errors.Is(err, task.ErrNotFound) {
			continue // it went meanwhile
		}
		if err != nil {
			return nil, err
		}
		raw, err := findLine(lines, seq)
		if raw != nil || err != nil {
			return raw, err
		}
	}
	return nil, nil
}

// An archivePart is an object of the archive: a line for each entry.
type archivePart struct {
	log         string
	first, last uint64 // entries in it, and of those between them some
	lines       bytes.Buffer
	name        string // once it is stored
}

func (p *archivePart) add(seq uint64, raw []byte) {
	if p.first == 0 {
		p.first = seq
	}
	p.last = seq
	_, _ = fmt.Fprintf(&p.lines, "%d ", seq) // a buffer takes all
	p.lines.Write(raw)
	p.lines.WriteByte('\n')
}

// findLine returns what a part has of an entry, nil if it lacks it.
func findLine(lines io.Reader, seq uint64) ([]byte, error) {
	in := bufio.NewReader(lines)
	prefix := fmt.Appendf(nil, "%d ", seq)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if raw, ok := bytes.CutPrefix(line, prefix); ok {
			return bytes.TrimSuffix(raw, []byte("\n")), nil
		}
	}
}

// beforeCompaction archives what is wanted of entries that are about to be cut. If that
// does not succeed it is tried again, but not for ever: the log goes on without its
// archive once it has too much, or if there is no room but what it would leave.
func (a *archive) beforeCompaction(ctx context.Context, log string, first, last uint64, retained task.Submissions) error {
	if a.follower.applied() < last { // what is wanted is not known
		return errReplaced
	}
	archiving, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err := a.storeEntries(archiving, log, first, last, retained)
	switch {
	case err == nil && a.follower.applied() < last:
		return errReplaced
	case err != nil && ctx.Err() == nil && (blob.IsFull(err) || a.capacity.mustCompact()):
		a.logger.Warn("compacting without archiving (no space): jobs spec will not work for these tasks", "first", first, "last", last, "err", err)
		return nil
	}
	return err
}

// storeEntries archives what is wanted of the entries from first to last of the
// log, which are about to be cut.
func (a *archive) storeEntries(ctx context.Context, log string, first, last uint64, retained task.Submissions) error {
	all := slices.Sorted(maps.Keys(retained(first, last)))
	if len(all) == 0 {
		return nil
	}
	messages, err := a.consume(ctx, all[0])
	if err != nil {
		return err
	}
	defer messages.Stop()
	p := archivePart{log: log}
	for at := all[0] - 1; len(all) > 0; {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("read entry %d of the log: %w", at+1, err)
		}
		e, err := a.entryOf(ctx, m, at, log) // another pod may have cut the log meanwhile
		if err != nil {
			return fmt.Errorf("archive entry %d of the log: %w", at+1, err)
		}
		at = e.Seq
		for len(all) > 0 && all[0] < at { // an operator deleted it
			all = all[1:]
		}
		if len(all) == 0 || all[0] != at {
			continue
		}
		raw, err := stripSecrets(m.Data())
		if err != nil {
			return err
		}
		p.add(at, raw)
		if all = all[1:]; len(all) == 0 || p.lines.Len() >= archivePartBytes {
			if err := a.storePart(ctx, &p); err != nil {
				return err
			}
			p = archivePart{log: log}
		}
	}
	return nil
}

func (a *archive) storePart(ctx context.Context, p *archivePart) error {
	name := fmt.Sprintf("%s-%020d-%020d", p.log, p.first, p.last)
	about := map[string]string{logHeader: p.log, firstHeader: fmt.Sprint(p.first), lastHeader: fmt.Sprint(p.last)}
	return a.parts.Store(ctx, name, about, p.lines.Bytes())
}

// stripSecrets returns an entry without the sealed values of secrets, which nobody
// needs any more once its tasks have their Jobs.
func stripSecrets(raw []byte) ([]byte, error) {
	if !bytes.Contains(raw, []byte(`"sealed"`)) {
		return raw, nil
	}
	e, err := task.DecodeEntry(raw)
	if err != nil {
		return nil, err
	}
	for i, raw := range e.Commands {
		c, err := task.DecodeCommand(raw)
		if err != nil || c.Submit == nil {
			continue
		}
		c.Submit.Sealed, c.Submit.SecretsMAC = nil, ""
		if e.Commands[i], err = json.Marshal(c); err != nil {
			return nil, err
		}
	}
	return e.Encode()
}

// storedParts returns what the archive has, of this log and of others.
func (a *archive) storedParts(ctx context.Context) ([]*archivePart, error) {
	stored, err := a.parts.List(ctx)
	if err != nil {
		return nil, err
	}
	parts := make([]*archivePart, 0, len(stored))
	for name, about := range stored {
		p := &archivePart{name: name, log: about[logHeader]}
		p.first, _ = strconv.ParseUint(about[firstHeader], 10, 64) // what says neither is of no use, and is swept
		p.last, _ = strconv.ParseUint(about[lastHeader], 10, 64)
		parts = append(parts, p)
	}
	return parts, nil
}

// prune removes the parts that are of no task any more.
func (a *archive) prune(ctx context.Context, log string, retained task.Submissions) error {
	parts, err := a.storedParts(ctx)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.log == log && (len(retained(p.first, p.last)) > 0 || a.follower.applied() < p.last) { // or what is wanted is not known
			continue
		}
		if err := a.parts.Remove(ctx, p.name); err != nil {
			return err
		}
	}
	return nil
}
