package session

import (
	"bytes"
	"context"
	"io"
	"sync"

	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/task"
)

// streams are the open streams of sessions on this pod.
type streams struct {
	mu   sync.Mutex
	open map[*stream]bool
}

type stream struct {
	session Session
	cancel  context.CancelFunc
}

// Stream returns a context that ends when the session of a stream expires or ends. The caller
// calls closed when the stream is over.
func (m *Manager) Stream(parent context.Context, s Session) (ctx context.Context, closed func()) {
	ctx, cancel := context.WithDeadline(parent, s.Expires)
	one := &stream{s, cancel}
	m.streams.mu.Lock()
	if m.streams.open == nil {
		m.streams.open = map[*stream]bool{}
	}
	m.streams.open[one] = true
	m.streams.mu.Unlock()
	if m.check(s) != nil { // the session ended after Identify and before Recheck could see the stream
		cancel()
	}
	return ctx, func() {
		cancel()
		m.streams.mu.Lock()
		delete(m.streams.open, one)
		m.streams.mu.Unlock()
	}
}

// Recheck ends the streams of sessions that have ended.
func (m *Manager) Recheck() {
	m.streams.mu.Lock()
	defer m.streams.mu.Unlock()
	for one := range m.streams.open {
		if m.check(one.session) != nil {
			one.cancel()
		}
	}
}

// A Follower calls Recheck when sessions may have ended.
type Follower struct {
	*cache.Store

	Manager *Manager
}

// endsSessions is the beginning of the command that ends sessions, as the log stores it.
var endsSessions = []byte(`{"end_sessions":`)

// Fold applies one entry.
func (f Follower) Fold(e task.Entry) ([]task.Result, error) {
	results, err := f.Store.Fold(e)
	for _, raw := range e.Commands {
		if bytes.HasPrefix(raw, endsSessions) {
			f.Manager.Recheck()
			break
		}
	}
	return results, err
}

// Restore replaces the state with a snapshot.
func (f Follower) Restore(snapshot io.Reader) error {
	err := f.Store.Restore(snapshot)
	f.Manager.Recheck()
	return err
}

// Reset discards the state.
func (f Follower) Reset() {
	f.Store.Reset()
	f.Manager.Recheck()
}
