package submit

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s-cli/pkg/task"
)

const (
	uploadsEvery = 30 * time.Second // between looks at what may go
	uploadsBatch = 1000             // in one command

	// An upload is stored before the log has it. What the log still does not have
	// after this time, it never will.
	uploadSettles = time.Hour
)

// A Shelf knows all uploads and where they are stored. It answers from memory.
type Shelf interface {
	IdleUploads(then time.Time, limit int) task.Discard
	UploadObjects() map[string]bool
}

// An UploadStore has what is stored of uploads: List says when that was.
type UploadStore interface {
	List(ctx context.Context) (map[string]time.Time, error)
	Drop(ctx context.Context, names ...string) error
}

// SweepUploads ends the uploads that were not used for so long and that no task
// needs, and removes what is stored of no upload, until ctx ends. First the log
// says that an upload is gone, then it goes: whoever is told that a submission is
// accepted has his files. It is the leader's, though two at once do no harm.
func SweepUploads(ctx context.Context, shelf Shelf, log Log, store UploadStore, keep time.Duration, logger *slog.Logger) error {
	look := time.NewTicker(max(min(uploadsEvery, keep/2), time.Second))
	defer look.Stop()
	for {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := sweepUploads(ctx, shelf, log, store, time.Now(), keep); err != nil && ctx.Err() == nil {
			logger.Warn("remove uploads that nobody needs, will try again", "err", err)
		}
	}
}

func sweepUploads(ctx context.Context, shelf Shelf, log Log, store UploadStore, now time.Time, keep time.Duration) error {
	if idle := shelf.IdleUploads(now.Add(-keep), uploadsBatch); len(idle.Uploads) > 0 {
		if _, err := log.Append(ctx, task.Command{Discard: &idle}); err != nil {
			return fmt.Errorf("discard %d uploads: %w", len(idle.Uploads), err)
		}
	}
	stored, err := store.List(ctx)
	if err != nil {
		return err
	}
	if _, ok := log.Sync(ctx); !ok { // what was stored by now and noted, the shelf has after this
		return errUnknownEnd
	}
	known := shelf.UploadObjects()
	var lost []string
	for name, at := range stored {
		if !known[name] && now.Sub(at) > min(uploadSettles, keep) {
			lost = append(lost, name)
		}
	}
	if len(lost) == 0 {
		return nil
	}
	return store.Drop(ctx, lost...)
}
