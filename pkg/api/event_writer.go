package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"k8s-cli/pkg/task"
)

// An eventWriter writes server-sent events to one listener.
type eventWriter struct {
	*bufio.Writer
	conn net.Conn
}

// stream writes events until ctx ends or an error occurs. If one is true, the stream is
// about one object and ends when the object is over.
func (w eventWriter) stream(ctx context.Context, l task.Subscription, one bool) error {
	fmt.Fprintf(w, "retry: %d\n", resumePause.Milliseconds())
	if err := w.sign(l); err != nil {
		return err
	}
	for {
		events, err := next(ctx, l)
		if errors.Is(err, context.DeadlineExceeded) {
			if err := w.sign(l); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		over := false
		for _, e := range events {
			if err := w.event(e); err != nil {
				return err
			}
			over = over || one && e.Over()
		}
		if err := w.flush(); err != nil || over {
			return err
		}
	}
}

// next waits for events, for heartbeatPause at most.
func next(ctx context.Context, l task.Subscription) ([]task.Event, error) {
	waiting, cancel := context.WithTimeout(ctx, heartbeatPause)
	defer cancel()
	events, err := l.Next(waiting)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return events, err
}

// sign writes a heartbeat with the current event id. A listener that received no event for
// a long time can then reconnect with an id that has not expired.
func (w eventWriter) sign(l task.Subscription) error {
	fmt.Fprintf(w, ": alive\nid: %s\n\n", l.At())
	return w.flush()
}

func (w eventWriter) event(e task.Event) error {
	raw, err := task.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	if e.ID != (task.EventID{}) {
		fmt.Fprintf(w, "id: %s\n", e.ID)
	}
	_, err = fmt.Fprintf(w, "data: %s\n\n", raw)
	return err
}

// flush sends the buffered events. flush returns an error if the listener reads nothing for
// writeTimeout.
func (w eventWriter) flush() error {
	if err := w.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return w.Flush()
}
