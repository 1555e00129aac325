package listwatch

import (
	"context"
	"sync"
	"time"
)

// A Health remembers since when the API server has not answered the informers.
// A watch that breaks is taken up again at once, so a server that is away shows
// within a moment.
type Health struct {
	mu    sync.Mutex
	since time.Time // zero while it answers
	err   error
}

// Observe takes the result of a request of an informer.
func (h *Health) Observe(ctx context.Context, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		h.since, h.err = time.Time{}, nil
	case ctx.Err() == nil && h.err == nil:
		h.since, h.err = time.Now(), err
	}
}

// Lag reports for how long the API server has not answered; err is nil if it does.
func (h *Health) Lag() (age time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		return 0, nil
	}
	return time.Since(h.since), h.err
}
