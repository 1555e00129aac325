package queue

import (
	"context"
	"io"
	"iter"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

// This file gives package events the entries of the log once more.

// ID returns the id of the log that this pod follows or followed last.
func (l *Log) ID() string { return l.follower.id() }

// AwaitID waits until this pod follows a log, and returns the id of that log.
func (l *Log) AwaitID(ctx context.Context) (string, error) {
	err := l.follower.awaitIdentified(ctx)
	return l.follower.id(), err
}

// SetPublished records that all events of the entries up to seq are stored, so that compaction
// may remove these entries. 0 means that this pod does not publish events.
func (l *Log) SetPublished(seq uint64) { l.publishedThrough.Store(seq) }

// RestoreBefore restores the state from which the entries from seq on can be replayed, and
// returns the entry at, after which the replay continues. RestoreBefore passes the latest
// snapshot older than seq to restore, and otherwise the oldest snapshot. If the log still has
// its first entry, a snapshot that is not older than seq is not used.
//
// Compact removes only entries whose events are published. Therefore no entry is missing
// before the oldest snapshot, unless someone else removed entries from the stream. In that
// case lost is not 0, and the entries from seq to lost are missing.
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
			break // the log reaches further back than the snapshot
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

// Entries returns the entries behind the sequence after, in order. The iterator waits for
// entries that are not written yet, and ends only with an error.
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
