package streams

import (
	"context"
	"fmt"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"
)

// A Budget is how many bytes a store may have in all; -1 means that it is not on
// a disk of ours.
type Budget int64

// Portion returns what a part of the store may have, as JetStream's MaxBytes.
func (b Budget) Portion(part float64) int64 {
	if b < 0 {
		return -1
	}
	return int64(part * float64(b))
}

// Budget returns what the disk of s.Dir has left and the store has already.
func (s Settings) Budget(ctx context.Context, js jetstream.JetStream) (Budget, error) {
	if s.Dir == "" {
		return -1, nil
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(s.Dir, &disk); err != nil {
		return 0, fmt.Errorf("size of the disk of %s: %w", s.Dir, err)
	}
	account, err := js.AccountInfo(ctx)
	if err != nil {
		return 0, fmt.Errorf("size of the store in %s: %w", s.Dir, err)
	}
	return Budget(disk.Bavail)*Budget(disk.Bsize) + Budget(account.Store), nil //nolint:gosec // as above
}
