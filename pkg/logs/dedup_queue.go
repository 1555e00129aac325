package logs

import (
	"context"
	"sync"
)

// A dedupQueue is a queue of ids that holds each id at most once.
type dedupQueue struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string
	most  int           // largest number of ids so far
	some  chan struct{} // signals new ids
}

// shrinkAt is the number of ids from which the queue releases its memory when it becomes
// empty.
const shrinkAt = 1 << 12

func newDedupQueue() dedupQueue {
	return dedupQueue{ids: map[string]bool{}, some: make(chan struct{}, 1)}
}

func (t *dedupQueue) add(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ids[id] {
		return
	}
	t.ids[id] = true
	t.order = append(t.order, id)
	t.most = max(t.most, len(t.ids))
	select {
	case t.some <- struct{}{}:
	default:
	}
}

// next waits for an id and removes the id from the queue. Only one goroutine may call next.
func (t *dedupQueue) next(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		if len(t.order) > 0 {
			id := t.order[0]
			t.order = t.order[1:]
			delete(t.ids, id)
			// A map keeps the memory of its largest size.
			if len(t.ids) == 0 && t.most > shrinkAt {
				t.ids, t.order, t.most = map[string]bool{}, nil, 0
			}
			t.mu.Unlock()
			return id, nil
		}
		t.mu.Unlock()
		select {
		case <-t.some:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
