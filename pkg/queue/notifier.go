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

// next returns a channel that is closed at the next change. Take it before
// looking, and no change can slip between the look and the wait.
func (n *notifier) next() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed == nil {
		n.changed = make(chan struct{})
	}
	return n.changed
}

func (n *notifier) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// wait blocks until reached is true, looking after every change, or ctx ends.
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
