package api

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

// An Events says what happened to tasks and volumes, and goes on saying so.
type Events interface {
	List(ctx context.Context, q task.EventQuery, limit int) (task.Answer, error) // oldest first
	Listen(ctx context.Context, q task.EventQuery) (task.Subscription, error)
	Last(ctx context.Context, q task.EventQuery) (task.Event, error) // the zero Event if there is none
}

const (
	lastEventHeader = "Last-Event-ID"
	typeEvents      = "text/event-stream"

	mostEvents     = 1000             // in one answer
	heartbeatPause = 15 * time.Second // between signs of life of a stream
	writeTimeout   = 30 * time.Second // for a listener to take what was sent, before it is given up
	resumePause    = time.Second      // that a listener is asked to wait before it comes back
)

func (s *Server) taskEvents(c *fiber.Ctx, user string) error {
	q := task.EventQuery{Key: task.Key{Kind: task.KindTask, ID: c.Params("id")}}
	q.User = s.ownerOf(c, user, q.Key.Kind, q.Key.ID)
	if answer, err := s.viewer.Task(c.UserContext(), q.User, q.Key.ID); err != nil {
		return send(c, answer, err)
	}
	return s.sendEvents(c, user, q)
}

// volumeEvents answers also for a volume that is deleted, as long as its events
// are kept.
func (s *Server) volumeEvents(c *fiber.Ctx, user string) error {
	q := task.EventQuery{Key: task.Key{Kind: task.KindVolume, ID: c.Params("id")}}
	q.User = s.ownerOf(c, user, q.Key.Kind, q.Key.ID)
	if answer, err := s.viewer.Volume(c.UserContext(), q.User, q.Key.ID); err != nil {
		if last, wrong := s.events.Last(c.UserContext(), q); wrong != nil || last.Key() != q.Key {
			return send(c, answer, cmp.Or(wrong, err))
		}
	}
	return s.sendEvents(c, user, q)
}

func (s *Server) allEvents(c *fiber.Ctx, user string) (err error) {
	q := task.EventQuery{User: user}
	if q.AllUsers, err = s.allUsers(c); err != nil {
		return err
	}
	return s.sendEvents(c, user, q)
}

// sendEvents answers a reader with a list, or with a stream if that is asked for.
func (s *Server) sendEvents(c *fiber.Ctx, reader string, q task.EventQuery) (err error) {
	// A browser that comes back has its old URL and a header that is newer.
	where, last := lastEventHeader, c.Get(lastEventHeader)
	if last == "" {
		where, last = "last_event_id", c.Query("last_event_id")
	}
	if q.After, err = placeOf(where, last); err != nil {
		return err
	}
	if wantsStream(c) {
		q.Now = last == "" && q.Key == task.Key{}
		return s.streamEvents(c, reader, q)
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	answer, err := s.events.List(c.UserContext(), q, limit)
	return send(c, answer, err)
}

// placeOf reads the id of an event, and where it stood; 0 is before the first one.
func placeOf(where, text string) (task.EventID, error) {
	if text == "0" {
		return task.EventID{}, nil
	}
	p, err := task.ParseEventID(text)
	if err != nil {
		return p, task.Error(task.ErrInvalid, where+": "+err.Error())
	}
	return p, nil
}

func limitOf(c *fiber.Ctx) (int, error) {
	text := c.Query("limit")
	if text == "" {
		return mostEvents, nil
	}
	limit, err := strconv.Atoi(text)
	if err != nil || limit < 1 || limit > mostEvents {
		return 0, task.Error(task.ErrInvalid, fmt.Sprintf("limit: %q is not a whole number from 1 to %d", text, mostEvents))
	}
	return limit, nil
}

func wantsStream(c *fiber.Ctx) bool {
	return strings.Contains(c.Get(fiber.HeaderAccept), typeEvents)
}

// streamEvents sends events as they happen, until the listener leaves, the
// object is over or the server ends. Of an object of which the listener has
// heard the end there is nothing to send: that keeps it from coming back (HTML,
// 9.2.3).
func (s *Server) streamEvents(c *fiber.Ctx, reader string, q task.EventQuery) error {
	if q.After != (task.EventID{}) && q.Key != (task.Key{}) {
		last, err := s.events.Last(c.UserContext(), q)
		if err != nil {
			return err
		}
		if last.Over() && last.ID.Compare(q.After) <= 0 {
			return c.SendStatus(fiber.StatusNoContent)
		}
	}
	slot := s.slots.events.Empty(reader)
	if c.Method() != fiber.MethodHead {
		var err error
		if slot, err = s.slots.events.Take(s.closing, reader); err != nil {
			return err
		}
	}
	listening, err := s.events.Listen(c.UserContext(), q)
	if err != nil {
		slot.Release()
		return err
	}
	c.Set(fiber.HeaderContentType, typeEvents)
	c.Set("X-Accel-Buffering", "no") // a proxy that gathers an answer would keep it back
	if c.Method() == fiber.MethodHead {
		return nil
	}
	c.Context().SetConnectionClose() // as for a log
	conn := c.Context().Conn()
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer slot.Release()
		defer opened(&s.metricsByRoute.events)()
		ctx, cancel := context.WithCancel(s.closing)
		defer cancel()
		go untilClosed(conn, cancel)
		to := eventWriter{w, conn}
		err := to.stream(ctx, listening, q.Key != task.Key{})
		if errors.Is(err, task.ErrGone) || errors.Is(err, task.ErrUnavailable) { // else the listener has left
			s.config.Logger.Warn("an event stream ended early", "user", q.User, "at", listening.At().String(), "err", err)
		}
	})
	return nil
}

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
