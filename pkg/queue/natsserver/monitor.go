package natsserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task"
)

// A store that failed to write once takes nothing more: JetStream leaves every
// publish without an answer, also after there is room again, until the store is
// opened anew (nats-server 2.15, server/filestore.go: werr stays). It tells
// nobody, so Run looks, and opens the store again once its disk takes writes.
//
// That loses nothing: it is what happens when the process is killed and started
// again, but that reads go on meanwhile. Whoever has an entry in flight repeats
// it until it knows, and the fold ignores what it has seen.
const (
	checkInterval   = time.Second     // between looks at the store
	reopenPause     = 5 * time.Second // between two attempts to open it again
	writebackWindow = time.Minute     // within which the kernel writes what nobody synced, or fails to
)

// Run looks after the store until ctx ends.
func (n *Server) Run(ctx context.Context) error {
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	w := storeMonitor{server: n, lastHealthy: time.Now()}
	for {
		select {
		case <-ticker.C:
			w.check(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Broken says why the store takes nothing, if so. The error is of kind
// task.ErrUnavailable and reads as a sentence to a user.
func (n *Server) Broken() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

// Healthy reports whether the store has no trouble at this moment: what can be read
// from it is also stored.
func (n *Server) Healthy() bool { return n.healthCheck() == nil }

// healthCheck says what is wrong with the store at this moment, in NATS' words. A
// stream that is just being made or removed may look ill for that moment.
func (n *Server) healthCheck() error {
	if h := n.current().Healthz(nil); h.Status != "ok" {
		return errors.New(h.Error)
	}
	return nil
}

// A storeMonitor is what Run remembers from look to look.
type storeMonitor struct {
	server      *Server
	suspect     bool      // the last look found the store ill
	lastHealthy time.Time // when it was found in order last
	brokenSince time.Time // when it was found broken, zero while it is not
	lastReopen  time.Time // when it was last tried to open it again
}

func (w *storeMonitor) check(ctx context.Context) {
	err := w.server.healthCheck()
	switch {
	case err == nil && w.brokenSince.IsZero():
		w.suspect, w.lastHealthy = false, time.Now()
	case err == nil:
		w.recovered()
	case !w.suspect:
		w.suspect = true
	default:
		w.handleBroken(ctx, err)
	}
}

// handleBroken says so once, and opens the store again when that may help.
func (w *storeMonitor) handleBroken(ctx context.Context, ill error) {
	c := w.server.config
	why := probe(c.Dir)
	writable := why == nil
	if writable {
		why = ill
	}
	w.server.setBroken(why)
	if w.brokenSince.IsZero() {
		w.brokenSince = time.Now()
		c.Logger.Error("the log's store is broken; commands get 503 until its disk accepts writes again", "dir", c.Dir, "nats", ill, "err", why)
	}
	if !writable || time.Since(w.lastReopen) < reopenPause || ctx.Err() != nil {
		return
	}
	w.lastReopen = time.Now()
	if err := w.server.reopen(w.lastHealthy.Add(-writebackWindow)); err != nil {
		w.server.setBroken(err)
		c.Logger.Error("reopening the log's store failed", "dir", c.Dir, "err", err)
		return
	}
	w.check(ctx)
}

func (w *storeMonitor) recovered() {
	w.server.setBroken(nil)
	w.server.config.Logger.Info("the log's store accepts commands again", "dir", w.server.config.Dir, "after", time.Since(w.brokenSince).Round(time.Second))
	w.suspect, w.lastHealthy, w.brokenSince = false, time.Now(), time.Time{}
}

// setBroken has Broken give the reason why, or nothing if there is none.
func (n *Server) setBroken(why error) {
	if errno, ok := errors.AsType[unix.Errno](why); ok {
		why = errno // without the name of a file that users know nothing of
	}
	if why != nil {
		why = task.Error(task.ErrUnavailable, fmt.Sprintf("the log's store is broken (%v): commands are rejected until its disk accepts writes again; ask the administrator to check the disk", why))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = why
}

// reopen puts a new server in the place of the present one, on a store of which
// what was written since then may not be on disk. Connections come back by
// themselves.
func (n *Server) reopen(since time.Time) error {
	shutDown(n.current())
	if err := rewrite(n.config.Dir, since); err != nil {
		return err
	}
	s, err := n.open()
	if err != nil {
		return err
	}
	if err := syncFilesystem(n.config.Dir); err != nil {
		shutDown(s)
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.server = s
	return nil
}

// probe writes to the disk of dir what an entry may have.
func probe(dir string) error {
	path := filepath.Join(dir, "probe")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer os.Remove(path)
	_, err = f.Write(make([]byte, natsconn.MaxPayload))
	return errors.Join(err, f.Sync(), f.Close())
}

// rewrite writes the files of the store in dir anew that were written since
// then. What a sync failed to write the kernel keeps in memory as if it had been
// written (fsync(2), NOTES), and even what was synced just before it was seen to
// be gone from the disk: a store opened on that would take for stored what a
// power cut takes away. Nobody may use the store meanwhile.
func rewrite(dir string, since time.Time) error {
	return filepath.WalkDir(filepath.Join(dir, server.JetStreamStoreDir), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || info.ModTime().Before(since) {
			return err
		}
		if err := copyOver(path, filepath.Join(dir, "anew"), info.Mode()); err != nil {
			return fmt.Errorf("rewrite the store: %w", err)
		}
		return nil
	})
}

// copyOver replaces a file by a copy of it, which is on disk before.
func copyOver(path, by string, mode fs.FileMode) error {
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(by, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Sync(), to.Close()); err == nil {
		err = os.Rename(by, path)
	}
	if err != nil {
		_ = os.Remove(by)
	}
	return err
}
