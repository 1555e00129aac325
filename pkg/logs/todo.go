package logs

import (
	"context"
	"sync"
)

// A todo holds ids, each once.
type todo struct {
	mu    sync.Mutex
	ids   map[string]bool
	order []string
	most  int           // ids that it has held
	some  chan struct{} // told when ids come
}

// roomy is of how many ids on the room is given back once there are none.
const roomy = 1 << 12

func newTodo() todo { return todo{ids: map[string]bool{}, some: make(chan struct{}, 1)} }

func (t *todo) add(id string) {
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
func (t *todo) next(ctx context.Context) (string, error) {
	for {
		t.mu.Lock()
		if len(t.order) > 0 {
			id := t.order[0]
			t.order = t.order[1:]
			delete(t.ids, id)
			if len(t.ids) == 0 && t.most > roomy { // a map keeps the room that it had at its largest
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
