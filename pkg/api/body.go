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

// A bodyReceiver reads the bodies of requests. The handlers of uploads and batches read
// their bodies themselves.
type bodyReceiver struct {
	closing context.Context //nolint:containedctx // ends with the server
}

// receive reads the body of a request before the handler runs, so that the next request on
// the connection begins at the right byte. The handlers of uploads and batches read their
// bodies themselves, after the authentication. receive does not read a body that is too
// large: the sender gets a response, and the connection is closed.
func (b *bodyReceiver) receive(c *fiber.Ctx) error {
	if !c.Request().IsBodyStream() {
		return c.Next()
	}
	stream := framing.NewBody(c.Context())
	upload := c.Method() == fiber.MethodPut && strings.HasPrefix(c.Path(), "/uploads/")
	if upload || c.Method() == fiber.MethodPost && strings.TrimSuffix(c.Path(), "/") == batchPath {
		body := &transferBody{Body: stream}
		c.Locals(bodyKey, body)
		err := c.Next() // the handler reads the body as it arrives
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

// typicalBody is the largest body for which readBody allocates memory before the body
// arrives. Most bodies are smaller. The bound limits the memory of requests whose announced
// bodies never arrive.
const typicalBody = 4 << 10

// readBody reads a body, up to one byte more than the limit, so that the caller can see
// whether the body is too large. length is the Content-Length, or negative if unknown.
func readBody(stream io.Reader, length int) ([]byte, error) {
	if length < 0 || length > typicalBody {
		return io.ReadAll(io.LimitReader(stream, taskfile.MaxSize+1))
	}
	body := make([]byte, length)
	_, err := io.ReadFull(stream, body)
	return body, err
}

// bufferedBody is the number of bytes of a body that fasthttp reads before the handler
// runs.
const bufferedBody = 8 << 10

// finish discards the rest of a body that has already arrived, so that the connection can
// be reused. If more of the body may arrive, finish sends the response first and then
// closes the connection.
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
