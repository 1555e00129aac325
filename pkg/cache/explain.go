package cache

import (
	"context"
	"maps"
	"slices"
	"time"
)

// explainPause is how long the nodes are let change before the tasks that wait
// for them are explained anew.
const explainPause = time.Second

// keepExplaining looks again at the tasks that wait for a node when the nodes
// have changed.
func (p *Picture) keepExplaining(ctx context.Context) {
	for {
		select {
		case <-p.nodes.changed:
		case <-ctx.Done():
			return
		}
		p.explainAgain()
		select {
		case <-time.After(explainPause):
		case <-ctx.Done():
			return
		}
	}
}

func (p *Picture) explainAgain() {
	p.mu.RLock()
	items := slices.Collect(maps.Keys(p.unplaced))
	p.mu.RUnlock()
	for _, item := range items {
		p.mu.Lock()
		if p.unplaced[item] {
			p.explainAll([]*taskItem{item})
		}
		p.mu.Unlock()
	}
}
