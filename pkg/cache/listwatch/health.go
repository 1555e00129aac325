package listwatch

import (
	"context"
	"sync"
	"time"
)

// A Health records since when the API server has not answered the informers. Broken watches
// are restarted at once, so that an unreachable API server is noticed within a moment.
type Health struct {
	mu    sync.Mutex
	since time.Time // zero while the API server answers
	err   error
}

// Observe records the result of a request of an informer.
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

// Lag reports for how long the API server has not answered; err is nil if the API server
// answers.
func (h *Health) Lag() (age time.Duration, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		return 0, nil
	}
	return time.Since(h.since), h.err
}
