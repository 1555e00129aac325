package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

// Compaction removes the entries before the older of the two retained snapshots, and removes
// the snapshots that are older than both.

// StoreSnapshot stores a snapshot. As in Compact, each request to NATS has a timeout of its own,
// and StoreSnapshot as a whole has none.
func (l *Log) StoreSnapshot(ctx context.Context, s task.Snapshot) error {
	entry, err := l.entryHash(ctx, s.Seq())
	if err == nil {
		err = l.putSnapshot(ctx, s, entry)
	}
	if err == nil {
		l.snapshotPolicy.reset(time.Now())
		l.uncovered.Store(false)
		return nil
	}
	return errors.Join(fmt.Errorf("store a snapshot of the log: %w", err), l.pruneSnapshots(ctx, s.Log())) // the bucket may be full
}

// Compact removes all snapshots but the latest two, and the entries before the older of the
// two. The retained submissions of these entries go to the archive first. Snapshots of earlier
// logs are removed too. done is false if the compaction must be repeated later, because the
// events of entries that would be removed are not published yet.
//
// Compact sets no deadline for itself: nats.go would wait for each lost response until that
// deadline. Without a deadline, nats.go waits natsconn.RequestTimeout for each response.
func (l *Log) Compact(ctx context.Context, log string, retained task.Submissions) (done bool, err error) {
	done, err = l.compact(ctx, log, retainedSnapshots, retained)
	if err != nil {
		err = fmt.Errorf("compact the log: %w", err)
	}
	return done, err
}

// MakeSpace removes the entries before the youngest snapshot if the log is full. A full log
// accepts no marker and therefore gets no further snapshot, so Compact, which retains the
// entries between the latest two snapshots, would never remove another entry.
func (l *Log) MakeSpace(ctx context.Context, retained task.Submissions) error {
	if _, err := l.info(ctx); err != nil { // updates the capacity
		return fmt.Errorf("read how full the log is: %w", err)
	}
	if !l.capacity.isFull() {
		return nil
	}
	if _, err := l.compact(ctx, l.follower.id(), 1, retained); err != nil {
		return fmt.Errorf("make space in the full log: %w", err)
	}
	return nil
}

// compact retains the latest snapshots, as many as the argument snapshots, and the entries since
// the oldest of them.
func (l *Log) compact(ctx context.Context, log string, snapshots int, retained task.Submissions) (done bool, err error) {
	head, err := l.identify(ctx, l.follower.appliedPosition())
	if err != nil {
		return false, err
	}
	if head.id != log {
		return false, errReplaced
	}
	usable, err := l.usableSnapshots(ctx, log, head.StreamState)
	if err != nil {
		return false, err
	}
	if len(usable) < snapshots {
		return true, nil
	}
	usable = usable[:snapshots]
	cut := usable[snapshots-1].seq
	if l.publishedThrough.Load() < cut {
		return false, nil
	}
	if err := l.pruneBefore(ctx, usable); err != nil {
		return false, err
	}
	if err := l.archive.beforeCompaction(ctx, log, head.FirstSeq, cut-1, retained); err != nil {
		return false, err
	}
	if err := l.store.Fsync(); err != nil {
		return false, err
	}
	if err := l.stream.Purge(ctx, jetstream.WithPurgeSequence(cut)); err != nil {
		return false, err
	}
	if _, err = l.info(ctx); err != nil { // updates the capacity
		return false, err
	}
	return true, l.archive.prune(ctx, log, retained)
}

// pruneSnapshots removes the snapshots that are older than the two retained ones.
func (l *Log) pruneSnapshots(ctx context.Context, log string) error {
	head, err := l.identify(ctx, l.follower.appliedPosition())
	if err != nil || head.id != log {
		return err
	}
	usable, err := l.usableSnapshots(ctx, log, head.StreamState)
	switch {
	case err != nil:
		return err
	case len(usable) < retainedSnapshots:
		return l.removeOtherSnapshots(ctx, log)
	}
	return l.pruneBefore(ctx, usable[:retainedSnapshots])
}

// removeOtherSnapshots removes the snapshots of logs that this log has replaced.
func (k *snapshotStore) removeOtherSnapshots(ctx context.Context, log string) error {
	objects, err := k.bucket.List(ctx)
	for _, o := range objects {
		if err == nil && o.Metadata[logHeader] != log {
			err = k.bucket.Remove(ctx, o)
		}
	}
	if err != nil {
		return fmt.Errorf("remove the snapshots of another log: %w", err)
	}
	return nil
}

// pruneBefore removes the objects that were stored before the usable snapshots: older
// snapshots and snapshots of other logs. Objects that were stored later stay, because another
// leader may have stored them.
func (k *snapshotStore) pruneBefore(ctx context.Context, usable []storedSnapshot) error {
	kept := make([]*jetstream.ObjectInfo, len(usable))
	for i, s := range usable {
		kept[i] = s.object
	}
	if err := k.bucket.RemoveBefore(ctx, kept); err != nil {
		return fmt.Errorf("remove old snapshots of the log: %w", err)
	}
	return nil
}
