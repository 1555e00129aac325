package blob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"k8s-cli/pkg/task"
)

const (
	sweepEvery = 30 * time.Second // pause between two sweeps
	sweepBatch = 1000             // uploads in one command

	// An upload is stored before its command is in the log. An upload that the log does not
	// contain this long after a leader saw its last part will never be in the log.
	uploadGrace = time.Hour
)

var errNoReadIndex = errors.New("the end of the command log is unknown; no upload is removed")

// A Log appends commands and waits for its read index.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)

	// WaitReadIndex waits until the index contains everything that was stored before the call;
	// ok is false if the end of the log cannot be confirmed.
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
}

// An UploadIndex knows all uploads in the log and their stored objects. Both methods answer
// from memory.
type UploadIndex interface {
	IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads
	UploadObjects() map[string]bool
}

// An uploadStore stores uploads; List returns when the last part of each upload was stored.
type uploadStore interface {
	List(ctx context.Context) (map[string]time.Time, error)
	Remove(ctx context.Context, names ...string) error
}

// Sweep deletes uploads that no task needs and that were unused for the retention, and removes
// stored data that belongs to no upload, until ctx ends. Sweep appends the deletion to the log
// before it removes data, so that the files of every accepted submission exist. The leader
// calls Sweep; two pods that call it at once do no harm.
func (u *Uploads) Sweep(ctx context.Context, index UploadIndex, log Log, retention time.Duration, logger *slog.Logger) error {
	return sweep(ctx, u, index, log, retention, logger)
}

func sweep(ctx context.Context, store uploadStore, uploads UploadIndex, log Log, retention time.Duration, logger *slog.Logger) error {
	ticker := time.NewTicker(max(min(sweepEvery, retention/2), time.Second))
	defer ticker.Stop()
	unknown := map[string]sighting{}
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := sweepOnce(ctx, store, uploads, log, unknown, time.Now(), retention); err != nil && ctx.Err() == nil {
			logger.Warn("removing unused uploads failed; retrying", "err", err)
		}
	}
}

// A sighting records when this process first saw stored data of no known upload, together with
// the store's timestamp of that data.
type sighting struct{ stamp, at time.Time }

// sweepOnce performs one sweep. unknown holds the local time at which this process first saw
// data of no known upload, because the timestamps of the store may come from a wrong clock.
func sweepOnce(ctx context.Context, store uploadStore, uploads UploadIndex, log Log, unknown map[string]sighting, now time.Time, retention time.Duration) error {
	before := uploads.UploadObjects()
	if idle := uploads.IdleUploads(now, retention, sweepBatch); len(idle.Uploads) > 0 {
		if _, err := log.Append(ctx, task.Command{DeleteUploads: &idle}); err != nil {
			return fmt.Errorf("delete %d uploads: %w", len(idle.Uploads), err)
		}
	}
	stored, err := store.List(ctx)
	if err != nil {
		return err
	}
	if _, ok := log.WaitReadIndex(ctx); !ok { // afterwards the index contains every upload that was stored and logged before List
		return errNoReadIndex
	}
	known := uploads.UploadObjects()
	var lost []string
	maps.DeleteFunc(unknown, func(name string, m sighting) bool { return known[name] || !m.stamp.Equal(stored[name]) })
	for name, at := range stored {
		if known[name] {
			continue
		}
		m, met := unknown[name]
		if !met { // or another part was stored since
			m = sighting{at, now}
			unknown[name] = m
		}
		if before[name] || now.Sub(m.at) > min(uploadGrace, retention) {
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return store.Remove(ctx, lost...)
}
