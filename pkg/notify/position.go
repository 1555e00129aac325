package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"k8s-cli/pkg/task"
)

// A position says which events were delivered: all events up to Events, except for those that
// the receivers and the stalled users have yet to get.
type position struct {
	Stream    string             `json:"stream"`
	Events    uint64             `json:"events"`
	Receivers []receiverPosition `json:"receivers,omitempty"`
	Stalled   []span             `json:"stalled,omitempty"`
}

// A span is a part of the events of one user: behind After, up to Through.
type span struct {
	User    string `json:"user"`
	After   uint64 `json:"after"`
	Through uint64 `json:"through"`
}

// A receiverPosition is the span that contains the undelivered events of one receiver.
type receiverPosition struct {
	span

	Receiver string `json:"receiver"` // see receiverKey
}

// readPosition reads a checkpoint. If events that were delivered are no longer in the stream,
// because NATS lost its last writes or the stream is new, readPosition returns an earlier
// position: the leader publishes these events again.
func readPosition(stored []byte, bounds task.EventBounds) (p position, err error) {
	if stored == nil {
		return position{}, nil
	}
	if err := json.Unmarshal(stored, &p); err != nil {
		return p, fmt.Errorf("read the checkpoint of the notifications: %w", err)
	}
	switch {
	case p.Stream != bounds.Stream:
		return position{}, nil
	case p.Events > bounds.Last:
		first := bounds.Last
		for _, r := range p.Receivers {
			first = min(first, r.After)
		}
		for _, s := range p.Stalled {
			first = min(first, s.After)
		}
		return position{Events: first}, nil
	}
	return p, nil
}

var errCheckpoint = errors.New("store the position of the notifications")

// storeCheckpoints stores the position at intervals while it changes. It returns an error if
// another pod stores positions.
func (r *run) storeCheckpoints() error {
	for pause(r.ctx, storeEvery) {
		if err := r.storeCheckpoint(r.ctx); err != nil && r.ctx.Err() == nil {
			return fmt.Errorf("%w: %w", errCheckpoint, err)
		}
	}
	return r.ctx.Err()
}

func (r *run) storeCheckpoint(ctx context.Context) error {
	p, changed := r.takePosition()
	if !changed {
		return nil
	}
	document, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return r.checkpoint.Store(ctx, document)
}

// takePosition returns the present position; changed is false if the previous call returned it.
func (r *run) takePosition() (p position, changed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	changed, r.changed = r.changed, false
	p = position{Stream: r.stream, Events: r.position}
	for _, u := range r.users {
		for _, to := range u.receivers {
			p.Receivers = append(p.Receivers, receiverPosition{to.span, to.key})
		}
		if u.stalled != nil {
			p.Stalled = append(p.Stalled, *u.stalled)
		}
	}
	return p, changed
}

// oldest returns the time of the oldest event that a receiver has failed to accept.
func (r *run) oldest() (at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, u := range r.users {
		for _, to := range u.receivers {
			if !to.waiting.IsZero() && (at.IsZero() || to.waiting.Before(at)) {
				at = to.waiting
			}
		}
	}
	return at
}
