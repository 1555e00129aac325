package check

import "k8s-cli/test/faults/history"

// Figures are the figures of a history for the summary.
type Figures struct {
	Tasks      int // accepted tasks
	Operations int
	Refused    int // answers with 503
	Unanswered int
	Stale      int // answers with X-Stale
}

// Count returns the figures of a history.
func Count(h *history.History) Figures {
	f := Figures{Tasks: len(newIndex(h, Config{}).accepted), Operations: len(h.Ops)}
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
	}
	return f
}
