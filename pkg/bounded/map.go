// Package bounded has a map of bounded size. The values are answers that can be computed
// again. Packages that do not import each other share it.
package bounded

import "sync"

// A Map holds values until their weights exceed a limit; the Map then drops all of them. A Map
// that is not full evicts nothing, and needs no order of its entries. A Map is safe for concurrent
// use.
type Map[K comparable, V any] struct {
	limit int

	mu     sync.RWMutex
	all    map[K]entry[V]
	weight int
}

type entry[V any] struct {
	value  V
	weight int
}

// NewMap returns an empty Map whose values have at most the weight limit.
func NewMap[K comparable, V any](limit int) *Map[K, V] {
	return &Map[K, V]{limit: limit, all: map[K]entry[V]{}}
}

// Get returns the value of a key; ok is false if there is none.
func (m *Map[K, V]) Get(key K) (value V, ok bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	e, ok := m.all[key]
	return e.value, ok
}

// Set sets the value of a key. A value that alone is heavier than the limit is not stored.
func (m *Map[K, V]) Set(key K, value V, weight int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.weight -= m.all[key].weight
	delete(m.all, key)
	if weight > m.limit {
		return
	}
	if m.weight+weight > m.limit {
		clear(m.all)
		m.weight = 0
	}
	m.all[key] = entry[V]{value, weight}
	m.weight += weight
}
