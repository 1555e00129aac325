package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

// A bodyReceiver reads the bodies of requests, or leaves that to their handlers.
type bodyReceiver struct {
	closing context.Context //nolint:containedctx // ends with the server
}

// receive reads the body of every request, so that whatever answers it leaves
// the connection at the start of the next one. Uploads and batches are read by their
// handlers, once they know who asks. A body that is refused is not read: its sender
// gets the answer, and the connection ends.
func (b *bodyReceiver) receive(c *fiber.Ctx) error {
	if !c.Request().IsBodyStream() {
		return c.Next()
	}
	stream := framing.NewBody(c.Context())
	upload := c.Method() == fiber.MethodPut && strings.HasPrefix(c.Path(), "/uploads/")
	if upload || c.Method() == fiber.MethodPost && strings.TrimSuffix(c.Path(), "/") == batchPath {
		body := &transferBody{Body: stream}
		c.Locals(bodyKey, body)
		err := c.Next() // reads it as it comes
		b.finish(c, body)
		return cmp.Or(stream.Violation(), err)
	}
	if c.Request().Header.ContentLength() > taskfile.MaxSize {
		return b.tooLarge(c)
	}
	body, err := readBody(stream, c.Request().Header.ContentLength())
	if err != nil {
		c.Context().SetConnectionClose()
		return cmp.Or(stream.Violation(), errShortBody)
	}
	if len(body) <= taskfile.MaxSize {
		c.Request().SetBodyRaw(body)
		return c.Next()
	}
	return b.tooLarge(c)
}

func (b *bodyReceiver) tooLarge(c *fiber.Ctx) error {
	framing.AnswerFirst(b.closing, c.Context())
	return task.Error(task.ErrTooLarge, fmt.Sprintf("the body is larger than %d bytes", taskfile.MaxSize))
}

var errShortBody = task.Error(task.ErrUnreadable, "the body ends too early; send as many bytes as the header states")

// typicalBody is how much memory a body is given before it comes, on the word of its
// head: most have less, and many that never come do not add up.
const typicalBody = 4 << 10

// readBody reads a body as far as tells whether it is too large. length is what
// its head says, negative if nothing.
func readBody(stream io.Reader, length int) ([]byte, error) {
	if length < 0 || length > typicalBody {
		return io.ReadAll(io.LimitReader(stream, taskfile.MaxSize+1))
	}
	body := make([]byte, length)
	_, err := io.ReadFull(stream, body)
	return body, err
}

// bufferedBody is how much of a body fasthttp has read before the handler runs.
const bufferedBody = 8 << 10

// finish leaves the connection at the end of the body, if all of the body is here,
// or else gives the connection up.
func (b *bodyReceiver) finish(c *fiber.Ctx, body *transferBody) {
	if !body.Expected() && body.end == nil {
		if length := c.Request().Header.ContentLength(); length >= 0 && length <= bufferedBody {
			_, _ = io.Copy(io.Discard, body)
		}
	}
	if !errors.Is(body.end, io.EOF) {
		framing.AnswerFirst(b.closing, c.Context())
	}
}
