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

func (q *dedupQueue) add(id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ids[id] {
		return
	}
	q.ids[id] = true
	q.order = append(q.order, id)
	q.most = max(q.most, len(q.ids))
	select {
	case q.some <- struct{}{}:
	default:
	}
}

// next waits for an id and removes the id from the queue. Only one goroutine may call next.
func (q *dedupQueue) next(ctx context.Context) (string, error) {
	for {
		q.mu.Lock()
		if len(q.order) > 0 {
			id := q.order[0]
			q.order = q.order[1:]
			delete(q.ids, id)
			// A map keeps the memory of its largest size.
			if len(q.ids) == 0 && q.most > shrinkAt {
				q.ids, q.order, q.most = map[string]bool{}, nil, 0
			}
			q.mu.Unlock()
			return id, nil
		}
		q.mu.Unlock()
		select {
		case <-q.some:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}
