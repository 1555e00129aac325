package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/streams"
)

// This file decides where a follower begins, and whether the follower may continue.

// verifySameLog compares the log in the stream with the log that the follower has read so far.
func (f *follower) verifySameLog(ctx context.Context, who identity, now jetstream.StreamState) error {
	f.mu.Lock()
	known := f.known
	same := f.identity == who && continues(now, f.folded)
	f.mu.Unlock()
	if !known {
		return nil
	}
	if !same {
		return errReplaced
	}
	return f.updateFirst(ctx, now)
}

// continues reports whether the log contains the entries after folded. A log that was purged
// completely does not continue.
func continues(now jetstream.StreamState, folded uint64) bool {
	return now.Msgs > 0 && now.FirstSeq <= folded+1 && folded <= now.LastSeq
}

// updateFirst records a new first entry of the log. If no snapshot covers the removed entries,
// updateFirst requests a snapshot from the leader: this pod has the whole state, but a pod
// that starts later would not.
func (f *follower) updateFirst(ctx context.Context, now jetstream.StreamState) error {
	f.mu.Lock()
	first, known, log := f.first, f.known, f.identity.id
	f.mu.Unlock()
	if !known || now.FirstSeq == first {
		return nil
	}
	usable, err := f.snapshots.usableSnapshots(ctx, log, now)
	if err != nil {
		return err
	}
	f.snapshots.uncovered.Store(len(usable) == 0)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.first = now.FirstSeq
	return nil
}

// errUncovered means that entries before the first entry of the log are missing, and that no
// snapshot covers them.
var errUncovered = errors.New("entries at the beginning of the log are missing, and no snapshot covers them")

// uncoveredPause is the pause between two searches for a snapshot that covers the log.
const uncoveredPause = time.Second

// StartErr returns the reason why this pod cannot start with the present log, nil if it can.
func (f *follower) StartErr() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.blocked
}

// bootstrap starts from the latest usable snapshot of the log. Without a snapshot, bootstrap
// starts from the first entry, if no entry before the first one is missing.
func (f *follower) bootstrap(ctx context.Context, head logHead, machine StateMachine) error {
	at, err := f.restore(ctx, head, machine)
	if err != nil {
		return err
	}
	if at > 0 {
		f.writer.onSnapshotRestored(machine)
	} else {
		if !head.complete && !f.acceptLoss {
			return fmt.Errorf("%w (first entry %d): restore the bucket %s from a backup, or start every server with --accept-log-loss to continue without the missing entries", errUncovered, head.FirstSeq, streams.SnapshotBucket)
		}
		if !head.complete {
			f.logger.Error("starting without the missing entries of the command log (--accept-log-loss); adopting objects of the cluster", "first", head.FirstSeq)
		}
		if f.hasFollowed() {
			f.writer.onLogReplaced()
			machine.Reset()
		}
		f.snapshots.snapshotPolicy.lastSize.Store(0)
		f.snapshots.uncovered.Store(!head.complete)
		at = head.FirstSeq - 1
	}
	f.snapshots.snapshotPolicy.reset(time.Now())
	f.mu.Lock()
	f.identity, f.known, f.first, f.folded, f.catchUpTarget = head.identity, true, head.FirstSeq, at, head.LastSeq
	f.blocked = nil
	f.mu.Unlock()
	f.advance(head.LastSeq)
	f.changed.notify()
	return nil
}

// restore returns the sequence of the last entry in the snapshot that machine has restored, 0
// if there is no usable snapshot.
func (f *follower) restore(ctx context.Context, head logHead, machine StateMachine) (uint64, error) {
	all, err := f.snapshots.usableSnapshots(ctx, head.id, head.StreamState)
	if err != nil {
		return 0, err
	}
	var failed error
	for _, s := range all {
		began := time.Now()
		err := f.snapshots.loadSnapshot(ctx, s, machine.Restore)
		switch {
		case err == nil:
			f.snapshots.snapshotPolicy.lastSize.Store(int64(s.size)) //nolint:gosec // no disk has 2^63 bytes
			f.logger.Info("started from a snapshot", "entry", s.seq, "hash", s.hash, "bytes", s.size, "took", time.Since(began).Round(time.Millisecond).String())
			return s.seq, nil
		case errors.Is(err, errUnreadable):
			return 0, err
		case !errors.Is(err, errBroken):
			failed = err
		}
		machine.Reset() // machine may have restored a corrupt snapshot
		f.logger.Error("restoring a snapshot failed; trying an older one", "err", err)
	}
	if head.complete {
		return 0, nil // the log contains every entry
	}
	return 0, failed
}
