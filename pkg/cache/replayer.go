package cache

import (
	"io"

	"k8s-cli/pkg/cache/state"
	"k8s-cli/pkg/task"
)

// A Replayer folds a part of the log again and returns its events.
type Replayer struct{ state *state.State }

// NewReplayer returns a Replayer that begins at the first entry of the log.
func NewReplayer() *Replayer { return &Replayer{state.New()} }

// Restore makes the Replayer continue after a snapshot.
func (r *Replayer) Restore(snapshot io.Reader) error {
	s, err := state.Decode(snapshot)
	if err == nil {
		r.state = s
	}
	return err
}

// Fold applies one entry and returns its events.
func (r *Replayer) Fold(e task.Entry) []task.Event { return r.state.Fold(e).Events }
