package status

import (
	"weak"

	"k8s-cli/pkg/bounded"
	"k8s-cli/pkg/task/query"
)

// maxTaskBytes bounds the bytes of the encoded answers in a taskCache; each answer counts with
// taskOverhead more bytes than its body. The bound is in bytes because the answer for a task of many
// nodes is large.
const (
	maxTaskBytes = 16 << 20
	taskOverhead = 256
	maxLists     = 10_000
)

// A taskCache holds recently requested answers by the id of the task. Most tasks are requested
// rarely, and the answers for all tasks would be a large part of the memory.
type taskCache struct {
	*bounded.Map[string, cachedTask]
}

type cachedTask struct {
	version uint64
	body    []byte
}

func newTaskCache() taskCache { return taskCache{bounded.NewMap[string, cachedTask](maxTaskBytes)} }

// get returns the cached answer for a version of a task or nil.
func (c taskCache) get(id string, version uint64) []byte {
	if t, _ := c.Get(id); t.version == version {
		return t.body
	}
	return nil
}

// put caches the answer for a version of a task.
func (c taskCache) put(id string, version uint64, body []byte) {
	c.Set(id, cachedTask{version, body}, len(body)+taskOverhead)
}

// A listCache holds the answers to repeated requests, by a text that is equal only for requests with
// the same answer. An answer is valid until an object changes that may be in the answer. The body of
// an answer may be collected earlier when memory is needed.
type listCache struct {
	*bounded.Map[string, cachedList]
}

type cachedList struct {
	version [2]uint64
	answer  query.Answer // without the body
	body    weak.Pointer[[]byte]
}

func newListCache() listCache { return listCache{bounded.NewMap[string, cachedList](maxLists)} }

// get returns the cached answer to a request; the answer may lack its body.
func (c listCache) get(request string, version [2]uint64) (a query.Answer, ok bool) {
	ready, ok := c.Get(request)
	if !ok || ready.version != version {
		return query.Answer{}, false
	}
	a = ready.answer
	if body := ready.body.Value(); body != nil {
		a.Body = *body
	}
	return a, true
}

func (c listCache) put(request string, version [2]uint64, a query.Answer) {
	body := a.Body
	a.Body = nil
	c.Set(request, cachedList{version, a, weak.Make(&body)}, 1)
}
