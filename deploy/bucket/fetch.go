package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rclone/rclone/fs"
	"github.com/rclone/rclone/fs/accounting"
	"github.com/rclone/rclone/fs/operations"
	"github.com/rclone/rclone/fs/sync"
)

// fetch copies the buckets to their directories. A copy that failed continues where it stopped.
func (p plan) fetch(ctx context.Context, getenv func(string) string) error {
	remotes := make([]fs.Fs, len(p.Buckets))
	total, count := int64(0), int64(0)
	for i, b := range p.Buckets {
		err := b.retry(ctx, "list", func() (err error) {
			var size, objects int64
			if remotes[i], err = b.open(ctx, getenv); err == nil {
				objects, size, err = b.prepare(ctx, remotes[i], getenv)
			}
			if err == nil {
				total, count = total+size, count+objects
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	if total > p.Max {
		return fmt.Errorf("the buckets of the task have %s in %d objects, more than the limit of the server of %s (--bucket-max); name a prefix with less data", bytes(total), count, bytes(p.Max))
	}
	stop := report(total)
	defer stop()
	for i, b := range p.Buckets {
		err := b.copyTo(ctx, remotes[i])
		if err == nil && b.Send {
			err = recordCopies(b.Dir, p.recordOf(i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// measure returns the number and the size of the objects in a bucket.
func measure(ctx context.Context, remote fs.Fs) (objects, size int64, err error) {
	objects, size, _, err = operations.Count(ctx, remote)
	return objects, size, err
}

func (b bucket) copyTo(ctx context.Context, remote fs.Fs) error {
	if err := os.MkdirAll(b.Dir, 0o777); err != nil {
		return err
	}
	local, err := fs.NewFs(ctx, b.Dir)
	if err != nil {
		return err
	}
	return b.retry(ctx, "copy", func() error {
		accounting.Stats(ctx).ResetErrors()
		return sync.CopyDir(ctx, local, remote, true)
	})
}

// A transfer fails if it completes no file for patience and in at least this number of attempts.
const (
	patience = 10 * time.Minute
	attempts = 5
)

// retry repeats do until it succeeds, fails for good, or completes no file for too long.
func (b bucket) retry(ctx context.Context, what string, do func() error) error {
	progressed, files, failed := time.Now(), accounting.Stats(ctx).GetTransfers(), 0
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		err := do()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		failed++
		if now := accounting.Stats(ctx).GetTransfers(); now > files {
			progressed, files, failed, pause = time.Now(), now, 0, time.Second
		}
		if isPermanent(err) || failed >= attempts && time.Since(progressed) > patience {
			return b.explain(what, err)
		}
		fmt.Fprintf(os.Stdout, "%s %s: the store does not answer as expected; trying again\n", what, b.URL)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

const reportEvery = 10 * time.Second

// report writes the progress to the log of the container until stop is called.
func report(total int64) (stop func()) {
	ended, before := make(chan struct{}), accounting.GlobalStats().GetBytes() // of files that were copied to buckets
	go func() {
		tick := time.NewTicker(reportEvery)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				fmt.Fprintf(os.Stdout, "fetched %s of %s\n", bytes(accounting.GlobalStats().GetBytes()-before), bytes(total))
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended) }
}

// bytes returns a size for a message.
func bytes(n int64) string { return fs.SizeSuffix(n).ByteUnit() }
