package cache

import (
	"context"
	"sync"
	"time"
)

// A reach remembers since when the API server has not answered the informers.
// A watch that breaks is taken up again at once, so a server that is away shows
// within a moment.
type reach struct {
	mu    sync.Mutex
	since time.Time // zero while it answers
	err   error
}

func (r *reach) note(ctx context.Context, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case err == nil:
		r.since, r.err = time.Time{}, nil
	case ctx.Err() == nil && r.err == nil:
		r.since, r.err = time.Now(), err
	}
}

// ClusterLag reports for how long the API server has not answered this pod; err
// is nil if it does.
func (p *Picture) ClusterLag() (age time.Duration, err error) {
	p.reach.mu.Lock()
	defer p.reach.mu.Unlock()
	if p.reach.err == nil {
		return 0, nil
	}
	return time.Since(p.reach.since), p.reach.err
}
