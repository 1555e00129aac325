// Package lock prevents two commands from doing the same work at the same time.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Take locks the file or directory at path, which must exist. If another process holds the
// lock, Take calls busy once and waits until the lock is free or ctx ends. The kernel
// releases the lock when this process exits.
func Take(ctx context.Context, path string, busy func()) (release func(), err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		busy()
		err = wait(ctx, f)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}

// wait leaks its goroutine when ctx ends: the system call cannot be cancelled, and the
// process exits soon anyway.
func wait(ctx context.Context, f *os.File) error {
	fd := int(f.Fd())
	locked := make(chan error, 1)
	go func() { locked <- unix.Flock(fd, unix.LOCK_EX) }()
	select {
	case err := <-locked:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}
