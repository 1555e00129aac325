package cache

import (
	"context"
	"maps"
	"slices"
	"time"
)

// refreshInterval is how long the nodes are let change before the tasks that wait
// for them are explained anew.
const refreshInterval = time.Second

// runReasonRefresh looks again at the tasks that wait for a node when the nodes
// have changed.
func (p *Store) runReasonRefresh(ctx context.Context) {
	for {
		select {
		case <-p.nodes.Changed():
		case <-ctx.Done():
			return
		}
		p.refreshReasons()
		select {
		case <-time.After(refreshInterval):
		case <-ctx.Done():
			return
		}
	}
}

func (p *Store) refreshReasons() {
	p.mu.RLock()
	items := slices.Collect(maps.Keys(p.unplaced))
	p.mu.RUnlock()
	for _, item := range items {
		p.mu.Lock()
		if p.unplaced[item] {
			p.refreshReasonsOf([]*taskItem{item})
		}
		p.mu.Unlock()
	}
}
