package submit

import (
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// waits measures waits that begin at a time of another clock: of NATS, or of the
// API server. If that time lies in the future, one of the clocks is wrong, and
// the wait begins when this process first met the time. So every wait ends at most
// its own length after it was first asked for.
type waits struct {
	mu  sync.Mutex
	met map[string]meeting // by what waits; only of times in the future
}

type meeting struct{ stamp, at time.Time }

// left returns how much is left of a wait of a length since the time stamp.
func (w *waits) left(name string, stamp time.Time, length time.Duration) time.Duration {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.met[name]
	if ok && !m.stamp.Equal(stamp) {
		delete(w.met, name)
		ok = false
	}
	switch {
	case ok:
		return max(length-now.Sub(m.at), 0)
	case !stamp.After(now):
		return max(length-now.Sub(stamp), 0)
	case w.met == nil:
		w.met = map[string]meeting{}
	}
	w.met[name] = meeting{stamp, now}
	return max(length, 0)
}

// drop forgets a task that waits for nothing any more, and its Jobs.
func (w *waits) drop(k task.Key, jobs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.met, k.String())
	for _, name := range jobs {
		delete(w.met, name)
	}
}

func (w *waits) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.met = nil
}
