package api

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/params"
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Events returns past events of tasks and volumes, and subscribes to new events.
type Events interface {
	List(ctx context.Context, r status.Read, q task.EventQuery, limit int) (task.Answer, error) // oldest first
	Subscribe(r status.Read, q task.EventQuery) (task.Subscription, error)
	Last(ctx context.Context, r status.Read, q task.EventQuery) (task.Event, error) // the zero Event if there is none
}

const (
	lastEventHeader = "Last-Event-ID"
	typeEvents      = "text/event-stream"

	mostEvents     = 1000             // largest number of events in one response
	heartbeatPause = 15 * time.Second // time between two heartbeats of a stream
	writeTimeout   = 30 * time.Second // time after which a listener that reads nothing is disconnected
	resumePause    = time.Second      // pause before a listener reconnects; sent to the listener
)

// An eventHandler serves the events of tasks and volumes.
type eventHandler struct {
	events  Events
	viewer  *status.Viewer
	callers *callers
	slots   *slots.Pool
	open    *atomic.Int64   // number of open streams
	closing context.Context //nolint:containedctx // ends the streams that are open
	logger  *slog.Logger
}

func (h *eventHandler) taskEvents(c *fiber.Ctx, user string) error {
	q := task.EventQuery{Key: task.Key{Kind: task.KindTask, ID: c.Params("id")}}
	read, owner := h.callers.readAs(c, user, q.Key.Kind, q.Key.ID)
	if err := read.Owns(owner, q.Key.ID); err != nil {
		return send(c, task.Answer{Stale: read.Stale}, err)
	}
	q.User = owner
	return h.sendEvents(c, read, user, q)
}

// volumeEvents also serves the events of a deleted volume, until the events expire.
func (h *eventHandler) volumeEvents(c *fiber.Ctx, user string) error {
	q := task.EventQuery{Key: task.Key{Kind: task.KindVolume, ID: c.Params("id")}}
	read, owner := h.callers.readAs(c, user, q.Key.Kind, q.Key.ID)
	q.User = owner
	if answer, err := read.Volume(q.User, q.Key.ID); err != nil {
		if last, wrong := h.events.Last(c.UserContext(), read, q); wrong != nil || last.Key() != q.Key {
			return send(c, answer, cmp.Or(wrong, err))
		}
	}
	return h.sendEvents(c, read, user, q)
}

func (h *eventHandler) allEvents(c *fiber.Ctx, user string) (err error) {
	q := task.EventQuery{User: user}
	if q.AllUsers, err = h.callers.allUsers(c); err != nil {
		return err
	}
	if q.Group, err = params.Group(c); err != nil {
		return err
	}
	return h.sendEvents(c, h.viewer.Read(c.UserContext()), user, q)
}

// sendEvents sends a list of events, or a stream if the request accepts one.
func (h *eventHandler) sendEvents(c *fiber.Ctx, read status.Read, reader string, q task.EventQuery) (err error) {
	// The header takes precedence over the query: a browser that reconnects repeats the old
	// URL and adds the newer header.
	where, last := lastEventHeader, c.Get(lastEventHeader)
	if last == "" {
		where, last = "last_event_id", c.Query("last_event_id")
	}
	if q.After, err = placeOf(where, last); err != nil {
		return err
	}
	if wantsStream(c) {
		q.Now = last == "" && q.Key == task.Key{}
		return h.streamEvents(c, read, reader, q)
	}
	limit, err := limitOf(c)
	if err != nil {
		return err
	}
	answer, err := h.events.List(c.UserContext(), read, q, limit)
	return send(c, answer, err)
}

// placeOf parses the id of an event. where names the header or the parameter in the error.
// The id 0 means before the first event.
func placeOf(where, text string) (task.EventID, error) {
	if text == "0" {
		return task.EventID{}, nil
	}
	p, err := task.ParseEventID(text)
	if err != nil {
		return p, problem.New(problem.Invalid, where+": "+err.Error())
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
		return 0, problem.New(problem.Invalid, fmt.Sprintf("limit: %q is not a whole number from 1 to %d", text, mostEvents))
	}
	return limit, nil
}

func wantsStream(c *fiber.Ctx) bool {
	return strings.Contains(c.Get(fiber.HeaderAccept), typeEvents)
}

// streamEvents sends events as they happen, until the listener disconnects, the object is
// over or the server stops. If the listener already received the last event of the object,
// the response is 204 No Content, which stops a browser from reconnecting (HTML standard,
// section 9.2.3).
func (h *eventHandler) streamEvents(c *fiber.Ctx, read status.Read, reader string, q task.EventQuery) error {
	if q.After != (task.EventID{}) && q.Key != (task.Key{}) {
		last, err := h.events.Last(c.UserContext(), read, q)
		if err != nil {
			return err
		}
		if last.Over() && last.ID.Compare(q.After) <= 0 {
			return c.SendStatus(fiber.StatusNoContent)
		}
	}
	slot := h.slots.Empty(reader)
	if c.Method() != fiber.MethodHead {
		var err error
		if slot, err = h.slots.Take(h.closing, reader); err != nil {
			return err
		}
	}
	listening, err := h.events.Subscribe(read, q)
	if err != nil {
		slot.Release()
		return err
	}
	c.Set(fiber.HeaderContentType, typeEvents)
	c.Set("X-Accel-Buffering", "no") // disables buffering in proxies, which would delay events
	if c.Method() == fiber.MethodHead {
		return nil
	}
	c.Context().SetConnectionClose() // for the reason in taskLogs
	conn := c.Context().Conn()
	ctx, cancel := h.callers.sessions.Stream(c, h.closing)
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer slot.Release()
		defer opened(h.open)()
		defer cancel()
		go untilClosed(conn, cancel)
		to := eventWriter{w, conn}
		err := to.stream(ctx, listening, q.Key != task.Key{})
		// all other errors mean that the listener disconnected
		if errors.Is(err, problem.Gone) || errors.Is(err, problem.Unavailable) {
			h.logger.Warn("an event stream ended early", "user", q.User, "at", listening.At().String(), "err", err)
		}
	})
	return nil
}
