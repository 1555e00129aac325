// Package lock keeps two commands from doing the same thing at once.
package lock

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Take locks the file or directory at path, which must exist. If another
// process has it, busy is called once, and Take waits until ctx ends. The
// kernel gives the lock back when this process dies.
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

// wait leaves its goroutine behind when ctx ends: nothing else ends the call,
// and the process is about to end anyway.
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
