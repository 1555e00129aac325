package queue

import (
	"context"
	"sync"
)

// A notifier lets any number of goroutines wait for the next change. The zero
// notifier is ready to use.
type notifier struct {
	mu      sync.Mutex
	changed chan struct{}
}

// next returns a channel that is closed at the next change. To miss no change, call next
// before inspecting the state.
func (n *notifier) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

// notify wakes all goroutines that wait.
func (n *notifier) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// wait blocks until reached returns true or ctx ends. wait calls reached after every change.
func (n *notifier) wait(ctx context.Context, reached func() bool) error {
	for {
		changed := n.next()
		if reached() {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
