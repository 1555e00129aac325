package query

import "sync"

const (
	maxMemos    = 1024
	maxMemoSize = 512 // bytes of a query
)

// A Memo remembers the parameters of recent requests, so that a request that clients repeat is
// parsed once. The zero Memo is ready for use.
type Memo struct {
	mu  sync.RWMutex
	all map[string]Tasks
}

// Parse returns the parameters of a request; raw is the query of its URL. Parse calls parse
// for a query that it does not remember. Callers must not change the slices of the result.
func (m *Memo) Parse(raw []byte, parse func() (Tasks, error)) (Tasks, error) {
	m.mu.RLock()
	q, ok := m.all[string(raw)]
	m.mu.RUnlock()
	if ok {
		return q, nil
	}
	q, err := parse()
	if err != nil || len(raw) > maxMemoSize {
		return q, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil || len(m.all) == maxMemos {
		m.all = map[string]Tasks{}
	}
	m.all[string(raw)] = q
	return q, nil
}
