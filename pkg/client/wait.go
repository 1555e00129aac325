package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
)

// Wait waits until a task is over, and returns its status. Waiting has no timeout of its own: it
// ends with ctx, and goes on while the server is away.
func (c *Client) Wait(ctx context.Context, id string) (task.Status, error) {
	s, err := c.Task(ctx, id)
	for err == nil && !s.Phase.Over() {
		if err = c.awaitEnd(ctx, task.Key{Kind: task.KindTask, ID: id}); err == nil {
			s, err = persist(ctx, c, func() (task.Status, error) { return c.Task(ctx, id) })
		}
	}
	return s, err
}

// awaitEnd reads the events of an object until the object is over, or until events were missed
// during an interruption.
func (c *Client) awaitEnd(ctx context.Context, of task.Key) error {
	stream, err := persist(ctx, c, func() (*EventStream, error) { return c.Subscribe(ctx, EventSource{Key: of}) })
	if err != nil {
		return err
	}
	defer stream.Close()
	for err == nil {
		_, err = persist(ctx, c, stream.Next)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, problem.Gone) {
		return nil
	}
	return err
}

// WaitGroup waits until all tasks of a group of the user are over, and returns the state of the
// group. Waiting has no timeout of its own: it ends with ctx, and goes on while the server is away.
func (c *Client) WaitGroup(ctx context.Context, name string) (group.Group, error) {
	for {
		g, err := c.WatchGroup(ctx, name, func(int, task.Event) error { return nil })
		if !errors.Is(err, problem.Gone) { // or else events were missed during an interruption
			return g, err
		}
	}
}

// WatchGroup is WaitGroup with a call of change for each event of the group. left is the number of
// tasks that are not over. If change returns an error, WatchGroup returns the error and the last
// known state of the group. The error is of kind problem.Gone if events were missed during an
// interruption.
func (c *Client) WatchGroup(ctx context.Context, name string, change func(left int, e task.Event) error) (group.Group, error) {
	read := func() (group.Group, error) { return c.Group(ctx, name) }
	g, err := read()
	if err != nil || g.Over() == g.Total {
		return g, err
	}
	stream, err := persist(ctx, c, func() (*EventStream, error) { return c.Subscribe(ctx, EventSource{Group: name}) })
	if err != nil {
		return g, err
	}
	defer stream.Close()
	for {
		if g, err = persist(ctx, c, read); err != nil || g.Over() == g.Total {
			return g, err
		}
		// The events say how many tasks have ended, so that WatchGroup requests the state only when
		// all tasks may be over.
		for left := g.Total - g.Over(); left > 0; {
			e, err := persist(ctx, c, stream.Next)
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

// persist repeats read while the server is away, until ctx ends.
func persist[T any](ctx context.Context, c *Client, read func() (T, error)) (T, error) {
	for {
		found, err := read()
		if !errors.Is(err, problem.Unavailable) {
			return found, err
		}
		select {
		case <-time.After(c.jittered(c.pause)):
		case <-ctx.Done():
			return found, fmt.Errorf("%w: %w", ctx.Err(), err)
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
