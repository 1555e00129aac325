package cache

import (
	"io"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A Replayer folds a part of the log again, for the events in it.
type Replayer struct{ state *state.State }

// NewReplayer returns one that begins with the log's first entry.
func NewReplayer() *Replayer { return &Replayer{state.New()} }

// Restore makes it begin behind a snapshot.
func (r *Replayer) Restore(snapshot io.Reader) error {
	s, err := state.Decode(snapshot)
	if err == nil {
		r.state = s
	}
	return err
}

// Fold applies one entry and returns its events.
func (r *Replayer) Fold(e task.Entry) []task.Event { return r.state.Fold(e).Events }
