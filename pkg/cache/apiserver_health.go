package cache

import (
	"context"
	"sync"
	"time"
)

// An apiServerHealth remembers since when the API server has not answered the informers.
// A watch that breaks is taken up again at once, so a server that is away shows
// within a moment.
type apiServerHealth struct {
	mu    sync.Mutex
	since time.Time // zero while it answers
	err   error
}

func (r *apiServerHealth) observe(ctx context.Context, err error) {
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
func (p *Store) ClusterLag() (age time.Duration, err error) {
	p.apiServer.mu.Lock()
	defer p.apiServer.mu.Unlock()
	if p.apiServer.err == nil {
		return 0, nil
	}
	return time.Since(p.apiServer.since), p.apiServer.err
}
