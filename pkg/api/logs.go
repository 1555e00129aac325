package api

import (
	"bufio"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/params"
	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
)

// resumableHeader is a response header: the lines have the form that X-Log-Resume requires.
const resumableHeader = "X-Log-Resumable"

// A request with pingHeader gets an empty line whenever the server has sent nothing for pingInterval, so
// that the client notices a connection that no longer carries data. The response has the header with
// the interval in seconds. Only a resumable log has such lines: each of its other lines begins with its
// time.
const (
	pingHeader   = "X-Log-Ping"
	pingInterval = 15 * time.Second
)

// linesTimeout is the longest time that the server reads a log for lines by their numbers.
const linesTimeout = time.Minute

// A logHandler serves the logs of tasks.
type logHandler struct {
	tailer  Tailer
	callers *callers
	slots   *slots.Pool
	open    *atomic.Int64   // number of open streams
	closing context.Context //nolint:containedctx // ends the streams that are open
	logger  *slog.Logger
}

func (h *logHandler) taskLogs(c *fiber.Ctx, user string) error {
	id, reader := c.Params("id"), user
	read, user := h.callers.readAs(c, user, task.KindTask, id)
	if err := read.Owns(user, id); err != nil {
		return send(c, task.Answer{Stale: read.Stale}, err)
	}
	options, err := params.ParseLog(c)
	if err != nil {
		return err
	}
	if err := h.tailer.Check(id, options.LogOptions); err != nil {
		return err
	}
	if options.Lines != nil {
		return h.sendLines(c, id, reader, options)
	}
	slot := h.slots.Empty(reader)
	if c.Method() != fiber.MethodHead {
		if slot, err = h.slots.Take(h.closing, reader); err != nil {
			return err
		}
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	if options.Resume != nil {
		c.Set(resumableHeader, "true")
		if c.Get(pingHeader) != "" {
			options.Ping = pingInterval
			c.Set(pingHeader, strconv.Itoa(int(pingInterval.Seconds())))
		}
	}
	if c.Method() == fiber.MethodHead {
		return nil
	}
	// The connection serves no request after this stream. Any end of the incoming data
	// therefore means that the client disconnected, which Fiber does not report.
	c.Context().SetConnectionClose()
	conn := c.Context().Conn()
	ctx, cancel := h.callers.sessions.Stream(c, h.closing)
	c.Context().SetBodyStreamWriter(func(w *bufio.Writer) {
		defer slot.Release()
		defer opened(h.open)()
		defer cancel()
		go untilClosed(conn, cancel)
		err := h.tailer.Tail(ctx, id, options.LogOptions, w)
		if err == nil {
			return
		}
		// The connection is closed without the end of the body, so that the client does not
		// take the log for complete.
		_ = conn.Close()
		if ctx.Err() == nil {
			h.logger.Warn("a log stream ended early", "task", id, "err", err)
		}
	})
	return nil
}

// sendLines sends lines that a request names by their numbers.
func (h *logHandler) sendLines(c *fiber.Ctx, id, reader string, options params.Log) error {
	slot, err := h.slots.Take(h.closing, reader)
	if err != nil {
		return err
	}
	defer slot.Release()
	ctx, cancel := context.WithTimeout(h.closing, linesTimeout)
	defer cancel()
	part, err := h.tailer.Lines(ctx, id, options.LogOptions, *options.Lines)
	if err != nil {
		return err
	}
	c.Set(fiber.HeaderContentType, fiber.MIMETextPlainCharsetUTF8)
	c.Set(logpos.Header, part.String())
	return c.Send(part.Text)
}

// untilClosed calls gone when the peer closes conn. untilClosed returns after that, or when
// the server closes conn.
func untilClosed(conn net.Conn, gone func()) {
	var b [1]byte
	_ = conn.SetReadDeadline(time.Time{})
	for {
		if _, err := conn.Read(b[:]); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			gone()
			return
		}
	}
}
