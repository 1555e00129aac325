package cache

import (
	"maps"
	"slices"
)

// refreshReasons explains the tasks that wait for a node anew.
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
