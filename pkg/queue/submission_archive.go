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
	"k8s-cli/pkg/task/problem"
)

// The archive retains an entry after compaction for as long as a task that was submitted in
// the entry has a record. Submissions are rarely read; therefore neither the memory of the
// pods nor the snapshots contain them.

var submissionsKind = blob.Kind{
	Bucket:      "SUBMISSIONS",
	Name:        "log archive",
	Description: "compacted entries of the log with the submissions of tasks in the history",
}

const (
	archiveLimit      = 256 << 20 // bytes of the whole archive: the submissions of some 300,000 tasks
	archivePartBytes  = 4 << 20   // bytes of entries in one object
	maxArchiveReaders = 4         // readers of the archive at once; other readers wait
	firstHeader       = "First"   // metadata: sequence of the first entry in the part
	lastHeader        = "Last"    // metadata: sequence of the last entry in the part
)

// A partStore stores the parts of the archive. The partStore may lose the oldest parts.
type partStore interface {
	Store(ctx context.Context, name string, about map[string]string, part []byte) error
	Open(ctx context.Context, name string) (io.Reader, error) // problem.SubmissionNotFound if the part does not exist
	List(ctx context.Context) (about map[string]map[string]string, err error)
	Remove(ctx context.Context, name string) error // no error if the part does not exist
}

// An archive retains submissions after their entries were removed from the log.
type archive struct {
	*logStream
	follower  *follower
	parts     partStore
	partBytes int           // bytes of entries in one object
	readers   chan struct{} // one element for each reader of the archive
	timeout   time.Duration // for storing the parts before one compaction
}

func newArchive(s *logStream, f *follower, parts partStore) *archive {
	return &archive{logStream: s, follower: f, parts: parts, partBytes: archivePartBytes, readers: make(chan struct{}, maxArchiveReaders), timeout: time.Minute}
}

// Submission returns the specification of a task as submitted in the entry at seq, with
// task.Redacted in place of each secret. The error is of kind problem.SubmissionNotFound if the
// submission is no longer stored, and problem.Unavailable if it cannot be read at present.
func (a *archive) Submission(ctx context.Context, seq uint64, id string) (task.Spec, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	raw, err := a.entry(ctx, seq)
	if err != nil {
		return task.Spec{}, problem.New(problem.Unavailable, fmt.Sprintf("the submission of task %s cannot be read at present (%v); try again", id, err))
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
	return task.Spec{}, problem.New(problem.SubmissionNotFound, fmt.Sprintf("the submission of task %s is no longer available", id))
}

// entry returns an entry of the log or of the archive, nil if neither contains the entry.
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
		if errors.Is(err, problem.SubmissionNotFound) {
			continue // the part was removed after it was listed
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

// An archivePart is one object of the archive. The object contains one line for each entry.
type archivePart struct {
	log         string
	first, last uint64 // sequences of the first and the last entry; entries between them may be absent
	lines       bytes.Buffer
	name        string // empty until the part is stored
}

func (p *archivePart) add(seq uint64, raw []byte) {
	if p.first == 0 {
		p.first = seq
	}
	p.last = seq
	_, _ = fmt.Fprintf(&p.lines, "%d ", seq) // a bytes.Buffer never returns an error
	p.lines.Write(raw)
	p.lines.WriteByte('\n')
}

// findLine returns the entry at seq from a part, nil if the part does not contain the entry.
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

// beforeCompaction archives the retained submissions of the entries from first to last, which
// are about to be removed. After an error the compaction is tried again, with two exceptions:
// the log is compacted without its archive if the archive is full, or if the log is so large
// that it must be compacted.
func (a *archive) beforeCompaction(ctx context.Context, log string, first, last uint64, retained task.Submissions) error {
	if a.follower.applied() < last { // retained does not know the later entries
		return errReplaced
	}
	archiving, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err := a.storeEntries(archiving, log, first, last, retained)
	switch {
	case err == nil && a.follower.applied() < last:
		return errReplaced
	case err != nil && ctx.Err() == nil && (blob.IsFull(err) || a.capacity.mustCompact()):
		a.logger.Warn("archiving submissions failed; compacting the command log without them, and k8s-cli jobs spec will not find these tasks", "first", first, "last", last, "err", err)
		return nil
	}
	return err
}

// storeEntries archives those entries from first to last that retained names. Compaction is
// about to remove these entries from the log.
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
		e, err := a.entryOf(ctx, m, at, log) // another pod may have compacted the log in the meantime
		if err != nil {
			return fmt.Errorf("archive entry %d of the log: %w", at+1, err)
		}
		at = e.Seq
		for len(all) > 0 && all[0] < at { // an operator deleted this entry
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
		if all = all[1:]; len(all) == 0 || p.lines.Len() >= a.partBytes {
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

// stripSecrets returns an entry without the sealed secrets. Sealed secrets are of no use after
// the Jobs of their tasks exist.
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

// storedParts returns the parts in the archive, of this log and of other logs.
func (a *archive) storedParts(ctx context.Context) ([]*archivePart, error) {
	stored, err := a.parts.List(ctx)
	if err != nil {
		return nil, err
	}
	parts := make([]*archivePart, 0, len(stored))
	for name, about := range stored {
		p := &archivePart{name: name, log: about[logHeader]}
		p.first, _ = strconv.ParseUint(about[firstHeader], 10, 64) // a part without these headers gets 0 and is removed by prune
		p.last, _ = strconv.ParseUint(about[lastHeader], 10, 64)
		parts = append(parts, p)
	}
	return parts, nil
}

// prune removes the parts that contain no retained submission.
func (a *archive) prune(ctx context.Context, log string, retained task.Submissions) error {
	parts, err := a.storedParts(ctx)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.log == log && (len(retained(p.first, p.last)) > 0 || a.follower.applied() < p.last) { // or retained does not know the entries of p yet
			continue
		}
		if err := a.parts.Remove(ctx, p.name); err != nil {
			return err
		}
	}
	return nil
}
