package check

import (
	"slices"
	"time"

	"k8s-cli/test/faults/history"
)

// Figures are the figures of a history for the summary.
type Figures struct {
	Tasks       int // accepted tasks
	Operations  int
	Refused     int // answers with 503
	Unanswered  int
	Stale       int // answers with X-Stale
	Second      int // second Jobs of a node of a stopped task, from a controller that did not know of the stop yet
	Pairs       int // reads of a value that the client has just written
	Half, Worst time.Duration
}

// Count returns the figures of a history. Half and Worst are the 50th and 99th percentile of
// the duration of the reads that Pairs counts.
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
