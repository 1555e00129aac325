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

// stream writes until ctx ends or something is wrong; of one object, until that
// is over.
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

// next waits for events, and for no longer than a listener waits for a sign of
// life.
func next(ctx context.Context, l task.Subscription) ([]task.Event, error) {
	waiting, cancel := context.WithTimeout(ctx, heartbeatPause)
	defer cancel()
	events, err := l.Next(waiting)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return events, err
}

// sign says that the stream lives and where it is, so that who has heard nothing
// for long does not come back with an id that is not kept any more.
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

// flush gives up a listener that takes nothing.
func (w eventWriter) flush() error {
	if err := w.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return w.Flush()
}
