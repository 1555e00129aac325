package status

import "sync"

// maxTaskBytes bounds the bytes of the encoded answers in a taskCache; each answer counts with
// taskOverhead more bytes than its body. The bound is in bytes because the answer for a task of many
// nodes is large.
const (
	maxTaskBytes = 16 << 20
	taskOverhead = 256
)

// A taskCache holds recently requested answers by the id of the task. Most tasks are requested
// rarely, and the answers for all tasks would be a large part of the memory. The zero taskCache is
// empty. A taskCache is safe for concurrent use.
type taskCache struct {
	mu   sync.Mutex
	all  map[string]cachedTask
	size int // bytes
}

type cachedTask struct {
	version uint64
	body    []byte
}

func (t cachedTask) size() int {
	if t.body == nil {
		return 0
	}
	return len(t.body) + taskOverhead
}

// get returns the cached answer for a version of a task or nil.
func (c *taskCache) get(id string, version uint64) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.all[id]; t.version == version {
		return t.body
	}
	return nil
}

// put caches the answer for a version of a task.
func (c *taskCache) put(id string, version uint64, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := cachedTask{version, body}
	c.size += t.size() - c.all[id].size()
	if c.size > maxTaskBytes || c.all == nil {
		c.all, c.size = map[string]cachedTask{}, t.size()
	}
	c.all[id] = t
}
