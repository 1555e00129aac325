package auth

import (
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// recheckInterval is how long a file that changed may go unnoticed: nobody looks at it
// more often, and only who needs it does.
const recheckInterval = time.Second

// A file is what a file says, read again when it has changed. What cannot be read
// does not take the place of what could.
type file[T any] struct {
	path   string
	read   func(path string) (T, error)
	logger *slog.Logger

	value     atomic.Pointer[T]
	checkedAt atomic.Int64 // Unix time in nanoseconds

	mu          sync.Mutex
	fingerprint string // how the file looked when it was read last
}

// openFile reads a file for the first time, which has to succeed.
func openFile[T any](path string, read func(string) (T, error), logger *slog.Logger) (*file[T], error) {
	f := &file[T]{path: path, read: read, logger: logger}
	f.fingerprint = fingerprint(path)
	value, err := read(path)
	if err != nil {
		return nil, err
	}
	f.value.Store(&value)
	f.checkedAt.Store(time.Now().UnixNano())
	return f, nil
}

// get returns what the file says, as of a second ago at the earliest.
func (f *file[T]) get() T {
	now := time.Now().UnixNano()
	if last := f.checkedAt.Load(); now-last > int64(recheckInterval) && f.checkedAt.CompareAndSwap(last, now) {
		f.reload()
	}
	return *f.value.Load()
}

// reload reads the file if it is not the one that was read.
func (f *file[T]) reload() {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := fingerprint(f.path)
	if now == f.fingerprint {
		return
	}
	f.fingerprint = now
	value, err := f.read(f.path)
	if err != nil {
		f.logger.Error("reading a changed file failed; the previous content stays in effect", "file", f.path, "err", err)
		return
	}
	f.value.Store(&value)
	f.logger.Info("reloaded a changed file", "file", f.path)
}

// fingerprint returns what changes when somebody writes a file or puts another one in
// its place.
func fingerprint(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return err.Error()
	}
	var inode uint64
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		inode = stat.Ino
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size(), inode)
}
