package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/testkit"
)

// hop is how long the listener listens to one server before it continues at the next one.
const hop = 3 * time.Second

// An eventListener receives all events, from before the first operation. An eventListener
// listens to one server after the other and continues at each one after the last received
// event.
type eventListener struct {
	heard  chan task.EventID // the id of the last event; a buffer of one
	cancel context.CancelFunc
	done   chan struct{}
	err    error // why it gave up; valid once done is closed
}

var everything = client.EventSource{AllUsers: true, After: "0"}

// listen starts to record the events that the servers send.
func (p *performance) listen(ctx context.Context) *eventListener {
	ctx, cancel := context.WithCancel(ctx)
	e := &eventListener{heard: make(chan task.EventID, 1), cancel: cancel, done: make(chan struct{})}
	go func() {
		defer close(e.done)
		source := everything
		for turn := 0; ctx.Err() == nil; turn++ {
			err := e.follow(ctx, p, client.New(p.Servers[turn%len(p.Servers)].URL, "ear"), &source)
			switch {
			case errors.Is(err, problem.Gone):
				e.err = err
				return
			case err != nil: // this server is not available, the next one may be
				_ = testkit.Pause(ctx, 100*time.Millisecond) // the loop ends with ctx
			}
		}
	}()
	return e
}

// follow records the events of one server for hop, and advances source.
func (e *eventListener) follow(ctx context.Context, p *performance, c *client.Client, source *client.EventSource) error {
	defer c.Close()
	ctx, cancel := context.WithTimeout(ctx, hop)
	defer cancel()
	stream, err := c.Subscribe(ctx, *source)
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		event, err := stream.Next()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		if event.ID == (task.EventID{}) {
			continue // progress events are not stored
		}
		p.Recorder.Event(history.EventOf(history.LiveEar, event))
		source.After = event.ID.String()
		select {
		case <-e.heard:
		default:
		}
		e.heard <- event.ID
	}
}

// end records the events that every server lists at rest. end stops the listener once the
// listener has received as many events.
func (e *eventListener) end(ctx context.Context, p *performance) error {
	defer func() { e.cancel(); <-e.done }()
	var last task.EventID
	for _, s := range p.Servers {
		c := client.New(s.URL, "ear")
		events, err := c.Events(ctx, everything)
		c.Close()
		if err != nil {
			return fmt.Errorf("list the events of %s: %w", s.Name, err)
		}
		for _, event := range events {
			p.Recorder.Event(history.EventOf(s.Name, event))
			last = event.ID
		}
	}
	late, cancel := testkit.WithPatience(ctx, time.Minute)
	defer cancel()
	for at := (task.EventID{}); at.Compare(last) < 0; {
		select {
		case at = <-e.heard:
		case <-e.done:
			return fmt.Errorf("listen to the events: %w", e.err)
		case <-late.Done(): // the checker reports the missing events
			return ctx.Err()
		}
	}
	return nil
}
