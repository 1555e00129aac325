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
	sweepEvery = 30 * time.Second // between looks at what may go
	sweepBatch = 1000             // in one command

	// An upload is stored before the log has it. What the log still does not have
	// this long after a leader saw its last part, it never will.
	uploadGrace = time.Hour
)

var errNoReadIndex = errors.New("the end of the log is unknown; no upload is removed")

// A Log takes commands and knows its end.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)

	// WaitReadIndex waits until the index holds all that was stored before the call;
	// ok is false if that is not known.
	WaitReadIndex(ctx context.Context) (age time.Duration, ok bool)
}

// An UploadIndex knows all uploads and where they are stored. It answers from memory.
type UploadIndex interface {
	IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads
	UploadObjects() map[string]bool
}

// An uploadStore has what is stored of uploads: List says when that was.
type uploadStore interface {
	List(ctx context.Context) (map[string]time.Time, error)
	Remove(ctx context.Context, names ...string) error
}

// Sweep ends the uploads that were not used for so long and that no task
// needs, and removes what is stored of no upload, until ctx ends. First the log
// says that an upload is gone, then it goes: whoever is told that a submission is
// accepted has his files. It is the leader's, though two at once do no harm.
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

// A sighting is when this process first saw what is stored of no upload, and the
// store's own time of that.
type sighting struct{ stamp, at time.Time }

// sweepOnce does so once. unknown is when this process first saw what is stored
// of no upload: the store's own times may be of a wrong clock.
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
	if _, ok := log.WaitReadIndex(ctx); !ok { // what was stored by now and noted, the shelf has after this
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
		if !met { // or another part of it was stored since
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
