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

// recheckInterval is the shortest time between two checks of a file, and therefore the
// longest time for which a change stays unnoticed. Only get checks the file; no timer does.
const recheckInterval = time.Second

// A file holds the parsed content of a file and reads the file again after a change. If the
// changed file cannot be read, the previous content stays in effect.
type file[T any] struct {
	path   string
	read   func(path string) (T, error)
	logger *slog.Logger

	value     atomic.Pointer[T]
	checkedAt atomic.Int64 // Unix time in nanoseconds

	mu          sync.Mutex
	fingerprint string // fingerprint of the file at the last read
}

// openFile reads a file for the first time and returns an error if the read fails.
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

// get returns the content of the file. If the last check is older than recheckInterval,
// get checks the file first.
func (f *file[T]) get() T {
	now := time.Now().UnixNano()
	if last := f.checkedAt.Load(); now-last > int64(recheckInterval) && f.checkedAt.CompareAndSwap(last, now) {
		f.reload()
	}
	return *f.value.Load()
}

// reload reads the file if the file has changed since the last read.
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

// fingerprint returns a value that changes when the file at path is written or replaced.
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
