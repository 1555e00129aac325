package client

import (
	"context"
	"errors"
	"io"
	"iter"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
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

// WaitGroup waits until all tasks of a group of the user are over, and returns the state of the
// group. Waiting has no timeout of its own; it ends with ctx.
func (c *Client) WaitGroup(ctx context.Context, name string) (group.Group, error) {
	return c.WatchGroup(ctx, name, func(int, task.Event) error { return nil })
}

// WatchGroup is WaitGroup with a call of change for each event of the group. left is the number of
// tasks that are not over. If change returns an error, WatchGroup returns the error and the last
// known state of the group.
func (c *Client) WatchGroup(ctx context.Context, name string, change func(left int, e task.Event) error) (group.Group, error) {
	g, err := c.Group(ctx, name)
	if err != nil || g.Over() == g.Total {
		return g, err
	}
	stream, err := c.Subscribe(ctx, EventSource{Group: name})
	if err != nil {
		return g, err
	}
	defer stream.Close()
	for {
		if g, err = c.Group(ctx, name); err != nil || g.Over() == g.Total {
			return g, err
		}
		// The events say how many tasks have ended, so that WatchGroup requests the state only when
		// all tasks may be over.
		for left := g.Total - g.Over(); left > 0; {
			e, err := stream.Next()
			if err != nil {
				return g, err
			}
			if e.Type == task.EventPhase && e.Over() {
				left--
			}
			if err := change(left, e); err != nil {
				return g, err
			}
		}
	}
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
