package status

import (
	"sync"
	"weak"

	"k8s-cli/pkg/task/query"
)

// A listCache holds the answers to repeated requests. An answer is valid until an object changes
// that may be in the answer. The body of an answer may be collected earlier when memory is needed.
type listCache struct {
	mu  sync.Mutex
	all map[string]cachedList // by a text that is equal only for requests with the same answer
}

type cachedList struct {
	version [2]uint64
	answer  query.Answer // without the body
	body    weak.Pointer[[]byte]
}

const maxLists = 10_000

// get returns the cached answer to a request; the answer may lack its body.
func (l *listCache) get(request string, version [2]uint64) (a query.Answer, ok bool) {
	l.mu.Lock()
	ready, ok := l.all[request]
	l.mu.Unlock()
	if !ok || ready.version != version {
		return query.Answer{}, false
	}
	a = ready.answer
	if body := ready.body.Value(); body != nil {
		a.Body = *body
	}
	return a, true
}

func (l *listCache) put(request string, version [2]uint64, a query.Answer) {
	body := a.Body
	a.Body = nil
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all == nil || len(l.all) == maxLists {
		l.all = map[string]cachedList{}
	}
	l.all[request] = cachedList{version, a, weak.Make(&body)}
}
