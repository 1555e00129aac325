// Package change lets goroutines wait for changes of a state.
package change

import (
	"context"
	"sync"
)

// A Notifier lets any number of goroutines wait for the next change. The zero
// Notifier is ready to use.
type Notifier struct {
	mu      sync.Mutex
	changed chan struct{}
}

// Next returns a channel that is closed at the next change. To miss no change, call Next
// before inspecting the state.
func (n *Notifier) Next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

// Notify wakes all goroutines that wait.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// Wait blocks until reached returns true or ctx ends. Wait calls reached after every change.
func (n *Notifier) Wait(ctx context.Context, reached func() bool) error {
	for {
		changed := n.Next()
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
