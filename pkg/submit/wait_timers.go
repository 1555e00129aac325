package submit

import (
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// waitTimers measures waits that begin at a time of another clock: of NATS, or of the
// API server. If that time lies in the future, one of the clocks is wrong, and
// the wait begins when this process first met the time. So every wait ends at most
// its own length after it was first asked for.
type waitTimers struct {
	mu     sync.Mutex
	timers map[string]waitTimer // by what waits; only of times in the future
}

type waitTimer struct{ stamp, at time.Time }

// remaining returns how much is left of a wait of a length since the time stamp.
func (w *waitTimers) remaining(name string, stamp time.Time, length time.Duration) time.Duration {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	m, ok := w.timers[name]
	if ok && !m.stamp.Equal(stamp) {
		delete(w.timers, name)
		ok = false
	}
	switch {
	case ok:
		return max(length-now.Sub(m.at), 0)
	case !stamp.After(now):
		return max(length-now.Sub(stamp), 0)
	case w.timers == nil:
		w.timers = map[string]waitTimer{}
	}
	w.timers[name] = waitTimer{stamp, now}
	return max(length, 0)
}

// drop forgets a task that waits for nothing any more, and its Jobs.
func (w *waitTimers) drop(k task.Key, jobs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.timers, k.String())
	for _, name := range jobs {
		delete(w.timers, name)
	}
}

func (w *waitTimers) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timers = nil
}
