package logs

import (
	"context"
	"sync"
)

// A dedupQueue holds ids, each once.
type dedupQueue struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string
	most  int           // ids that it has held
	some  chan struct{} // told when ids come
}

// shrinkAt is of how many ids on the room is given back once there are none.
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

// next waits for an id and takes it out. It is called by one goroutine.
func (t *dedupQueue) next(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		if len(t.order) > 0 {
			id := t.order[0]
			t.order = t.order[1:]
			delete(t.ids, id)
			if len(t.ids) == 0 && t.most > shrinkAt { // a map keeps the room that it had at its largest
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
