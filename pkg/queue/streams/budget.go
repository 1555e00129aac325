package streams

import (
	"context"
	"fmt"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"
)

// A Budget is the number of bytes that a store may take in all; -1 for an external store.
type Budget int64

// Portion returns the part of the budget that one stream may take, as JetStream's MaxBytes.
func (b Budget) Portion(part float64) int64 {
	if b < 0 {
		return -1
	}
	return int64(part * float64(b))
}

// Budget returns the free space of the disk of s.Dir plus the bytes that the store already
// takes.
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
	return Budget(disk.Bavail)*Budget(disk.Bsize) + Budget(account.Store), nil //nolint:gosec // the sizes of disks fit an int64
}
