package check

import (
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

// Figures are what a summary says of a history.
type Figures struct {
	Tasks       int // accepted
	Operations  int
	Refused     int // 503
	Unanswered  int
	Stale       int // answers that said so
	Second      int // Jobs that a stopped task got from a controller that had not heard of it yet
	Pairs       int // reads of what was just written
	Half, Worst time.Duration
}

// Count returns the figures of a history. Half and Worst are the 50th and 99th
// percentile of how long a read of what was just written takes.
func Count(h *history.History) Figures {
	x := newIndex(h, Config{})
	f := Figures{Tasks: len(x.accepted), Operations: len(h.Ops)}
	var took []time.Duration
	for _, o := range h.Ops {
		switch o.Code {
		case 503:
			f.Refused++
		case 0:
			f.Unanswered++
		}
		if o.Stale != "" {
			f.Stale++
		}
		if o.Pair && o.OK() {
			took = append(took, o.End-o.Begin)
		}
	}
	seen := map[string]bool{}
	for _, l := range x.lives() {
		if node := l.ID + " " + l.Rank; seen[node] {
			f.Second++
		} else {
			seen[node] = true
		}
	}
	if f.Pairs = len(took); f.Pairs > 0 {
		slices.Sort(took)
		f.Half, f.Worst = took[f.Pairs/2], took[f.Pairs*99/100]
	}
	return f
}
