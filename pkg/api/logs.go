package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task"
)

const (
	// resumeHeader is the request header that asks for a resumable log: each line begins
	// with its time, regardless of the other options. The value is the position in the log
	// of each node, or resumeStart.
	resumeHeader = "X-Log-Resume"
	resumeStart  = "start"

	resumableHeader = "X-Log-Resumable" // response header: the lines have the form that resumeHeader requires
)

// isStream reports whether the response is streamed.
func isStream(c *fiber.Ctx) bool {
	return strings.HasSuffix(c.Path(), "/logs") || strings.HasPrefix(c.Path(), "/uploads/") || strings.Contains(c.Path(), "/files/") ||
		strings.HasSuffix(c.Path(), "/events") && wantsStream(c)
}

// A logHandler serves the logs of tasks.
type logHandler struct {
	tailer  Tailer
	tasks   TaskReader
	callers *callers
	slots   *slots.Pool
	open    *atomic.Int64   // number of open streams
	closing context.Context //nolint:containedctx // ends the streams that are open
	logger  *slog.Logger
}

func (h *logHandler) taskLogs(c *fiber.Ctx, user string) error {
	id, reader := c.Params("id"), user
	user = h.callers.ownerOf(c, user, task.KindTask, id)
	if answer, err := h.tasks.Task(c.UserContext(), user, id); err != nil {
		return send(c, answer, err)
	}
	options, err := logOptions(c)
	if err != nil {
		return err
	}
	if err := h.tailer.Check(id, options); err != nil {
		return err
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
		err := h.tailer.Tail(ctx, id, options, w)
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

func logOptions(c *fiber.Ctx) (o task.LogOptions, err error) {
	if o.Follow, err = flag(c, "follow", true); err != nil {
		return o, err
	}
	if o.Timestamps, err = flag(c, "timestamps", false); err != nil {
		return o, err
	}
	if tail := c.Query("tail"); tail != "" {
		n, err := strconv.ParseInt(tail, 10, 32)
		if err != nil || n < 0 {
			return o, task.Error(task.ErrInvalid, fmt.Sprintf("tail: %q is not a number of lines", tail))
		}
		o.Tail = &n
	}
	if node := c.Query("node"); node != "" {
		n, err := strconv.Atoi(node)
		if err != nil || n < 0 {
			return o, task.Error(task.ErrInvalid, fmt.Sprintf("node: %q is not the rank of a node", node))
		}
		o.Node = &n
	}
	if number := c.Query("attempt"); number != "" {
		n, err := strconv.Atoi(number)
		if err != nil || n < 1 {
			return o, task.Error(task.ErrInvalid, fmt.Sprintf("attempt: %q is not the number of an attempt, from 1", number))
		}
		o.Attempt = n
	}
	if o.Since, err = since(c.Query("since")); err != nil {
		return o, err
	}
	if place := c.Get(resumeHeader); place != "" {
		o.Timestamps = true
		o.Resume, err = resume(place)
	}
	return o, err
}

// resume parses the position in the log of each node: RANK@SECOND,..., with the second in
// Unix time.
func resume(text string) (map[int]time.Time, error) {
	from := map[int]time.Time{}
	if text == resumeStart {
		return from, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		rank, second, _ := strings.Cut(part, "@")
		n, errRank := strconv.Atoi(rank)
		at, errSecond := strconv.ParseInt(second, 10, 64)
		if errRank != nil || errSecond != nil || n < 0 {
			return nil, task.Error(task.ErrInvalid, fmt.Sprintf("%s: %q is not RANK@SECOND", resumeHeader, part))
		}
		from[n] = time.Unix(at, 0)
	}
	return from, nil
}

// since parses a duration such as 90s or 5m. A number without a unit means seconds.
func since(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	if _, err := strconv.Atoi(text); err == nil {
		text += "s"
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, task.Error(task.ErrInvalid, fmt.Sprintf("since: %q is not a duration such as 90s or 5m", text))
	}
	return d, nil
}
