package blob

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s-cli/pkg/task"
)

const (
	sweepEvery = 30 * time.Second // pause between two sweeps
	listEvery  = 10 * time.Minute // between two sweeps that list the store
	sweepBatch = 1000             // uploads in one command

	// An upload is stored before its command is in the log. An upload that the log does not
	// contain this long after a leader saw it will never be in the log.
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

// An uploadStore stores uploads.
type uploadStore interface {
	List(ctx context.Context) (names []string, err error)
	Remove(ctx context.Context, names ...string) error
	RemoveTorn(ctx context.Context, now time.Time) error
}

// Sweep deletes uploads that no task needs and that were unused for the retention, and removes
// stored data that belongs to no upload, until ctx ends. Sweep appends the deletion to the log
// before it removes data, so that the files of every accepted submission exist. The leader
// calls Sweep; two pods that call it at once do no harm.
func (u *Uploads) Sweep(ctx context.Context, index UploadIndex, log Log, retention time.Duration, logger *slog.Logger) error {
	s := newSweeper(u, index.UploadObjects, log, retention)
	s.expire = func(ctx context.Context, now time.Time) error { return expireIdle(ctx, index, log, now, retention) }
	return s.run(ctx, logger)
}

// SweepOutputs is Sweep for outputs, which leave the log with their tasks: known returns the names
// of the stored objects of all outputs in the log. Data that belongs to no outputs is removed after
// uploadGrace, because a slow node may still be sending younger data.
func (u *Uploads) SweepOutputs(ctx context.Context, known func() map[string]bool, log Log, logger *slog.Logger) error {
	return newSweeper(u, known, log, uploadGrace).run(ctx, logger)
}

// expireIdle appends the deletion of uploads that were unused for the retention.
func expireIdle(ctx context.Context, index UploadIndex, log Log, now time.Time, retention time.Duration) error {
	idle := index.IdleUploads(now, retention, sweepBatch)
	if len(idle.Uploads) == 0 {
		return nil
	}
	if _, err := log.Append(ctx, task.Command{DeleteUploads: &idle}); err != nil {
		return fmt.Errorf("delete %d uploads: %w", len(idle.Uploads), err)
	}
	return nil
}

// A sweeper removes stored data that belongs to no upload in the log.
type sweeper struct {
	store     uploadStore
	index     func() map[string]bool // names of the stored objects of all uploads in the log
	log       Log
	expire    func(ctx context.Context, now time.Time) error // nil: uploads do not expire
	retention time.Duration

	known   map[string]bool      // index() of the last sweep
	left    []string             // names that left the index between the last two sweeps
	lost    []string             // names to remove
	unknown map[string]time.Time // when this process first saw stored data of no known upload
	listed  time.Time            // time of the last list of the store
}

func newSweeper(store uploadStore, index func() map[string]bool, log Log, retention time.Duration) *sweeper {
	return &sweeper{store: store, index: index, log: log, retention: retention}
}

func (s *sweeper) run(ctx context.Context, logger *slog.Logger) error {
	ticker := time.NewTicker(max(min(sweepEvery, s.retention/2), time.Second))
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := s.sweep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			logger.Warn("removing unused uploads failed; retrying", "err", err)
		}
	}
}

// sweep performs one sweep. What leaves the index is removed by its name. The store is listed less
// often, because only data of crashed writers is found by it.
func (s *sweeper) sweep(ctx context.Context, now time.Time) (err error) {
	if s.expire != nil {
		if err := s.expire(ctx, now); err != nil {
			return err
		}
	}
	var stored []string
	list := s.listed.IsZero() || now.Sub(s.listed) >= min(listEvery, s.retention/2)
	if list {
		if stored, err = s.store.List(ctx); err != nil {
			return err
		}
	}
	if _, ok := s.log.WaitReadIndex(ctx); !ok { // afterwards the index contains every upload that was stored and logged before List
		return errNoReadIndex
	}
	s.update(s.index())
	if list {
		s.listed = now
		s.lost = append(s.lost, s.strangers(stored, now)...)
		if err := s.store.RemoveTorn(ctx, now); err != nil {
			return err
		}
	}
	if len(s.lost) == 0 {
		return nil
	}
	if err := s.store.Remove(ctx, s.lost...); err != nil {
		return err
	}
	s.lost = nil
	return nil
}

// update notes which names have left the index. A name is lost when two sweeps in a row miss it, because
// an index that is being rebuilt from the log is incomplete for a moment.
func (s *sweeper) update(known map[string]bool) {
	for _, name := range s.left {
		if !known[name] {
			s.lost = append(s.lost, name)
		}
	}
	s.left = nil
	for name := range s.known {
		if !known[name] {
			s.left = append(s.left, name)
		}
	}
	s.known = known
}

// strangers returns the names of stored data that has belonged to no upload for a long time, by the
// clock of this process: the clock of the store may be wrong.
func (s *sweeper) strangers(stored []string, now time.Time) (old []string) {
	since := map[string]time.Time{}
	for _, name := range stored {
		if s.known[name] {
			continue
		}
		if since[name] = s.unknown[name]; since[name].IsZero() {
			since[name] = now
		}
		if now.Sub(since[name]) > min(uploadGrace, s.retention) {
			old = append(old, name)
		}
	}
	s.unknown = since
	return old
}
