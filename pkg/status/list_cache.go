package status

import (
	"sync"
	"weak"

	"k8s-cli/pkg/task"
)

// A listCache holds the answers to repeated list queries. An answer is valid until a task
// changes that may be in the list. The body of an answer may be collected earlier when memory
// is needed.
type listCache struct {
	mu  sync.Mutex
	all map[task.Query]cachedList
}

type cachedList struct {
	version [2]uint64
	answer  task.Answer // without the body
	body    weak.Pointer[[]byte]
}

const maxLists = 10_000

// get returns the cached answer to q; the answer may lack its body.
func (l *listCache) get(q task.Query, version [2]uint64) (a task.Answer, ok bool) {
	l.mu.Lock()
	ready, ok := l.all[q]
	l.mu.Unlock()
	if !ok || ready.version != version {
		return task.Answer{}, false
	}
	a = ready.answer
	if body := ready.body.Value(); body != nil {
		a.Body = *body
	}
	return a, true
}

func (l *listCache) put(q task.Query, version [2]uint64, a task.Answer) {
	body := a.Body
	a.Body = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) == maxLists {
		l.all = map[task.Query]cachedList{}
	}
	l.all[q] = cachedList{version, a, weak.Make(&body)}
}
