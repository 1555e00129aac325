package submit

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"k8s-cli/pkg/task"
)

const (
	uploadsEvery = 30 * time.Second // between looks at what may go
	uploadsBatch = 1000             // in one command

	// An upload is stored before the log has it. What the log still does not have
	// this long after a leader saw its last part, it never will.
	uploadGrace = time.Hour
)

// An UploadIndex knows all uploads and where they are stored. It answers from memory.
type UploadIndex interface {
	IdleUploads(now time.Time, unused time.Duration, limit int) task.DeleteUploads
	UploadObjects() map[string]bool
}

// An UploadStore has what is stored of uploads: List says when that was.
type UploadStore interface {
	List(ctx context.Context) (map[string]time.Time, error)
	Remove(ctx context.Context, names ...string) error
}

// SweepUploads ends the uploads that were not used for so long and that no task
// needs, and removes what is stored of no upload, until ctx ends. First the log
// says that an upload is gone, then it goes: whoever is told that a submission is
// accepted has his files. It is the leader's, though two at once do no harm.
func SweepUploads(ctx context.Context, uploads UploadIndex, log Log, store UploadStore, retention time.Duration, logger *slog.Logger) error {
	ticker := time.NewTicker(max(min(uploadsEvery, retention/2), time.Second))
	defer ticker.Stop()
	unknown := map[string]waitTimer{}
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := sweepUploads(ctx, uploads, log, store, unknown, time.Now(), retention); err != nil && ctx.Err() == nil {
			logger.Warn("removing unused uploads failed; retrying", "err", err)
		}
	}
}

// sweepUploads does so once. unknown is when this process first saw what is stored
// of no upload: the store's own times may be of a wrong clock.
func sweepUploads(ctx context.Context, uploads UploadIndex, log Log, store UploadStore, unknown map[string]waitTimer, now time.Time, retention time.Duration) error {
	before := uploads.UploadObjects()
	if idle := uploads.IdleUploads(now, retention, uploadsBatch); len(idle.Uploads) > 0 {
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
	maps.DeleteFunc(unknown, func(name string, m waitTimer) bool { return known[name] || !m.stamp.Equal(stored[name]) })
	for name, at := range stored {
		if known[name] {
			continue
		}
		m, met := unknown[name]
		if !met { // or another part of it was stored since
			m = waitTimer{at, now}
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
