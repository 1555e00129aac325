// Package bodies caches encoded answers within a bound of memory.
package bodies

import "sync"

// maxBytes bounds the bytes of the cached answers; each answer counts with
// overhead more bytes than its body. The bound is in bytes because the answer for a
// task of many nodes is large.
const (
	maxBytes = 16 << 20
	overhead = 256
)

// A Cache holds recently requested answers by the id of the task. The zero Cache is empty. A Cache
// is safe for concurrent use.
type Cache struct {
	mu   sync.Mutex
	all  map[string]response
	size int // bytes
}

type response struct {
	version uint64
	body    []byte
}

func (k response) size() int {
	if k.body == nil {
		return 0
	}
	return len(k.body) + overhead
}

// Get returns the cached answer for a version of a task, nil if there is none.
func (a *Cache) Get(id string, version uint64) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.all[id]; r.version == version {
		return r.body
	}
	return nil
}

// Add caches the answer for a version of a task.
func (a *Cache) Add(id string, version uint64, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := response{version, body}
	a.size += r.size() - a.all[id].size()
	if a.size > maxBytes || a.all == nil {
		a.all, a.size = map[string]response{}, r.size()
	}
	a.all[id] = r
}
