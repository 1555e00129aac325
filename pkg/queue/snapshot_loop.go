package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s-cli/pkg/task"
)

const (
	snapshotEvery = time.Second      // pause between two checks of how much the log has grown
	snapshotPause = 30 * time.Second // pause after a snapshot that could not be stored
)

// A SnapshotSource returns the snapshot that was taken at the last marker in the log, and the
// entries with submissions of tasks in the history.
type SnapshotSource interface {
	Snapshot() (s task.Snapshot, ok bool)
	Submissions(first, last uint64) map[uint64]bool
}

// A compactor stores snapshots, and removes the part of the log that they replace.
type compactor interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)
	SnapshotDue() bool
	StoreSnapshot(ctx context.Context, s task.Snapshot) error
	Compact(ctx context.Context, log string, retained task.Submissions) (done bool, err error)
	MakeSpace(ctx context.Context, retained task.Submissions) error
}

// RunSnapshots stores a snapshot of source whenever the log has grown enough, until ctx ends.
// source must follow the log. The leader calls RunSnapshots; two pods that call it at once do
// no harm.
func (l *Log) RunSnapshots(ctx context.Context, source SnapshotSource) error {
	return runSnapshots(ctx, source, l, l.config.Logger)
}

func runSnapshots(ctx context.Context, source SnapshotSource, log compactor, logger *slog.Logger) error {
	ticker := time.NewTicker(snapshotEvery)
	defer ticker.Stop()
	superfluous := "" // id of a log to compact because a snapshot was stored; empty if none
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		var err error
		if log.SnapshotDue() {
			var of string
			if of, err = markAndStore(ctx, source, log, logger); err == nil {
				superfluous = of
			}
		}
		if superfluous != "" {
			done, wrong := log.Compact(ctx, superfluous, source.Submissions)
			if err = errors.Join(err, wrong); done {
				superfluous = ""
			}
		}
		if err != nil && ctx.Err() == nil {
			logger.Warn("storing a snapshot failed; retrying", "err", err)
			ticker.Reset(snapshotPause)
			continue
		}
		ticker.Reset(snapshotEvery)
	}
}

// markAndStore appends a snapshot marker, stores the snapshot that was taken at the marker,
// and appends the hash of the snapshot, which the other pods compare with theirs. of is the id
// of the log of the snapshot.
func markAndStore(ctx context.Context, source SnapshotSource, log compactor, logger *slog.Logger) (of string, err error) {
	began := time.Now()
	if _, err := log.Append(ctx, task.Command{SnapshotMarker: &task.SnapshotMarker{}}); err != nil {
		return "", errors.Join(fmt.Errorf("mark the log: %w", err), log.MakeSpace(ctx, source.Submissions))
	}
	s, ok := source.Snapshot()
	if !ok {
		return "", errors.New("another pod stored a snapshot in the meantime")
	}
	if err := log.StoreSnapshot(ctx, s); err != nil {
		return "", err
	}
	if _, err := log.Append(ctx, task.Command{SnapshotStored: &task.SnapshotStored{Seq: s.Seq(), Hash: s.Hash()}}); err != nil {
		return "", fmt.Errorf("record a snapshot in the log: %w", err)
	}
	logger.Info("snapshot stored", "entry", s.Seq(), "hash", s.Hash(), "took", time.Since(began).Round(time.Millisecond).String())
	return s.Log(), nil
}
