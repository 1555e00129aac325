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
	"k8s-cli/pkg/task/problem"
)

// After one failed write, a JetStream store accepts no further writes: publishes get no
// answer, even after the disk has free space again, until the store is opened again
// (nats-server 2.15, server/filestore.go: werr stays). NATS does not report the failure. Run
// therefore polls the health of the store, and opens the store again once its disk accepts
// writes.
//
// Reopening loses no entry: the effect is the same as that of a restart of the process, except
// that reads continue. A writer with an entry in flight sends the entry again until the
// outcome is known, and the fold ignores an entry that it has seen.
const (
	checkInterval   = time.Second     // pause between two health checks
	reopenPause     = 5 * time.Second // pause between two attempts to reopen the store
	writebackWindow = time.Minute     // within this time the kernel writes unsynced data, or fails to
)

// Run monitors the store until ctx ends.
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

// StoreErr returns an error while the store accepts no writes, nil otherwise. The error is of
// kind problem.LogUnavailable, and its text is a sentence for users.
func (n *Server) StoreErr() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.broken
}

// Healthy reports whether the store is healthy at present, so that everything that can be read
// from the store is also stored.
func (n *Server) Healthy() bool { return n.healthCheck() == nil }

// healthCheck returns the failure that NATS reports for the store at present or nil. A stream that
// is being created or removed may be reported as a failure for a moment.
func (n *Server) healthCheck() error {
	if h := n.current().Healthz(nil); h.Status != "ok" {
		return errors.New(h.Error)
	}
	return nil
}

// A storeMonitor is the state of Run between two checks.
type storeMonitor struct {
	server      *Server
	suspect     bool      // the last check found a failure
	lastHealthy time.Time // last check without a failure
	brokenSince time.Time // first check that found the store broken; zero while the store is healthy
	lastReopen  time.Time // last attempt to reopen the store
	reopenErr   error     // why that attempt failed; nil if it did not
}

func (m *storeMonitor) check(ctx context.Context) {
	err := m.server.healthCheck()
	switch {
	case err == nil && m.brokenSince.IsZero():
		m.suspect, m.lastHealthy = false, time.Now()
	case err == nil:
		m.recovered()
	case !m.suspect:
		m.suspect = true
	default:
		m.handleBroken(ctx, err)
	}
}

// handleBroken logs the failure once, and reopens the store if the disk accepts writes.
func (m *storeMonitor) handleBroken(ctx context.Context, ill error) {
	c := m.server.config
	why := probe(c.Dir)
	writable := why == nil
	switch {
	case writable && m.reopenErr != nil: // NATS reports only that it is shut down
		why = m.reopenErr
	case writable:
		why = ill
	}
	m.server.setBroken(why)
	if m.brokenSince.IsZero() {
		m.brokenSince = time.Now()
		c.Logger.Error("the store of the command log is broken; commands get 503 until the disk accepts writes again", "dir", c.Dir, "nats", ill, "err", why)
	}
	if !writable || time.Since(m.lastReopen) < reopenPause || ctx.Err() != nil {
		return
	}
	m.lastReopen = time.Now()
	if m.reopenErr = m.server.reopen(m.lastHealthy.Add(-writebackWindow)); m.reopenErr != nil {
		m.server.setBroken(m.reopenErr)
		c.Logger.Error("reopening the store of the command log failed", "dir", c.Dir, "err", m.reopenErr)
		return
	}
	m.check(ctx)
}

func (m *storeMonitor) recovered() {
	m.server.setBroken(nil)
	m.server.config.Logger.Info("the store of the command log accepts commands again", "dir", m.server.config.Dir, "after", time.Since(m.brokenSince).Round(time.Second))
	*m = storeMonitor{server: m.server, lastHealthy: time.Now(), lastReopen: m.lastReopen}
}

// setBroken sets the error that StoreErr returns; nil means that the store accepts writes.
func (n *Server) setBroken(why error) {
	if errno, ok := errors.AsType[unix.Errno](why); ok {
		why = errno // without the name of a file, which users do not know
	}
	if why != nil {
		why = problem.New(problem.LogUnavailable, fmt.Sprintf("the store of the command log is broken (%v): commands are rejected until the disk accepts writes again; ask the administrator to check the disk", why))
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.broken = why
}

// reopen replaces the NATS server with a new one on the same store. Data that was written
// after since may not be on disk. Connections reconnect by themselves.
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

// probe writes as many bytes as the largest entry to the disk of dir.
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

// rewrite rewrites the files of the store in dir that were modified after since. Data that a
// sync failed to write stays in the page cache as if it had been written (fsync(2), NOTES),
// and data that was synced shortly before the failure may be missing on the disk. A store that
// opens such files would take data for stored that a power failure takes away. Nothing else
// may use the store during the call.
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

// copyOver replaces a file with a copy of itself. The copy is on disk before the replacement.
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
