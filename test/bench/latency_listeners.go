package main

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// An eventListener records when it learned of the change of each task.
type eventListener struct {
	name    string
	changes *sync.Map // when each task changed, by id

	mu    sync.Mutex
	heard map[string]time.Time
}

func (e *eventListener) hear(id string) {
	now := time.Now()
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, again := e.heard[id]; !again {
		e.heard[id] = now
	}
}

func (e *eventListener) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.heard)
}

// print prints the latencies. A listener that learned of a change before the API server had
// answered has latency 0.
func (e *eventListener) print(out io.Writer) {
	var all []time.Duration
	for id, at := range e.heard {
		changed, _ := e.changes.Load(id)
		all = append(all, max(at.Sub(changed.(time.Time)), 0))
	}
	if len(all) == 0 {
		return
	}
	slices.Sort(all)
	at := func(share float64) time.Duration {
		return all[int(share*float64(len(all)-1))].Round(10 * time.Microsecond)
	}
	fmt.Fprintf(out, "%-34s %9d %9s %9s %9s\n", e.name, len(all), at(0.5), at(0.99), at(1))
}
