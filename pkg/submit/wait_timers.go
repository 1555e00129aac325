package submit

import (
	"sync"
	"time"

	"k8s-cli/pkg/task"
)

// waitTimers measures waits that begin at a time of another clock: the clock of NATS or of the
// API server. If that time is in the future, one of the clocks is wrong, and the wait begins
// when this process first sees the time. Every wait therefore ends at most its own length
// after the first call.
type waitTimers struct {
	mu     sync.Mutex
	timers map[string]waitTimer // by name of the wait; only waits that begin in the future
}

type waitTimer struct{ stamp, at time.Time }

// remaining returns the rest of a wait of the given length that began at stamp.
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

// drop removes the timers of a task that waits no longer, and of its Jobs.
func (w *waitTimers) drop(k task.Key, jobs []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.timers, k.String())
	for _, name := range jobs {
		delete(w.timers, name)
	}
}
