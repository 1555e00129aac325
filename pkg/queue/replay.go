package queue

import (
	"context"
	"io"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

// What is made of the log once more: see package events.

// ID returns the id of the log that this pod follows, or followed last.
func (l *Log) ID() string { return l.follower.id() }

// AwaitID waits until this pod follows a log and returns the id of the log.
func (l *Log) AwaitID(ctx context.Context) (string, error) {
	err := l.follower.awaitIdentified(ctx)
	return l.follower.id(), err
}

// SetPublished notes that all events of the entries up to seq are stored: these
// entries may go. 0 means that this pod does not publish events.
func (l *Log) SetPublished(seq uint64) { l.publishedThrough.Store(seq) }

// RestoreBefore gives restore the youngest snapshot that is older than the entry at
// seq, if the log does not begin with its first entry, and returns the entry behind
// which the log goes on. The log is cut only where its events have been published
// (see Compact): nothing is missing before the oldest snapshot, unless somebody else
// cut. Then lost is not 0, and the entries between seq and lost are missing.
func (l *Log) RestoreBefore(ctx context.Context, seq uint64, restore func(io.Reader) error) (at, lost uint64, err error) {
	head, err := l.identify(ctx, l.follower.appliedPosition())
	if err != nil {
		return 0, 0, err
	}
	all, err := l.usableSnapshots(ctx, head.id, head.StreamState)
	if err != nil {
		return 0, 0, err
	}
	for i, s := range all {
		oldest := i == len(all)-1
		if s.seq >= seq && !oldest {
			continue
		}
		if s.seq >= seq && head.complete {
			break // the log has more than the snapshot
		}
		if s.seq > head.FirstSeq && s.seq >= seq {
			lost = s.seq
		}
		return s.seq, lost, l.loadSnapshot(ctx, s, restore)
	}
	if !head.complete {
		lost = head.FirstSeq
	}
	return head.FirstSeq - 1, lost, nil
}

// Entries returns the entries behind one, without end: it waits for those to come.
// It ends with an error.
func (l *Log) Entries(ctx context.Context, after uint64) iter.Seq2[task.Entry, error] {
	return func(yield func(task.Entry, error) bool) {
		messages, err := l.consume(ctx, after+1)
		if err != nil {
			yield(task.Entry{}, err)
			return
		}
		defer messages.Stop()
		for at := after; ; {
			var e task.Entry
			m, err := messages.Next(jetstream.NextContext(ctx))
			if err == nil {
				e, err = l.entryOf(ctx, m, at, l.follower.id())
			}
			if !yield(e, err) || err != nil {
				return
			}
			at = e.Seq
		}
	}
}
