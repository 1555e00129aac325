package client

import (
	"context"
	"errors"
	"io"
	"iter"

	"k8s-cli/pkg/task"
)

// Wait waits until a task is over, and returns its status. Waiting has no timeout of its own; it
// ends with ctx.
func (c *Client) Wait(ctx context.Context, id string) (task.Status, error) {
	s, err := c.Task(ctx, id)
	if err != nil || s.Phase.Over() {
		return s, err
	}
	stream, err := c.Subscribe(ctx, EventSource{Key: task.Key{Kind: task.KindTask, ID: id}})
	if err != nil {
		return s, err
	}
	defer stream.Close()
	for _, err := range stream.All() {
		if err != nil {
			return s, err
		}
	}
	return c.Task(ctx, id)
}

// All returns the events of the stream. If the stream breaks, its error is the last element.
func (e *EventStream) All() iter.Seq2[task.Event, error] {
	return func(yield func(task.Event, error) bool) {
		for {
			event, err := e.Next()
			if errors.Is(err, io.EOF) || !yield(event, err) || err != nil {
				return
			}
		}
	}
}
