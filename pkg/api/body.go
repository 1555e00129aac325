package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
)

// A bodyReceiver makes the bodies of requests available to the handlers.
type bodyReceiver struct {
	closing context.Context //nolint:containedctx // ends with the server
}

// receive leaves the body of a request to the handler, and then discards the rest of the body,
// so that the next request on the connection begins at the right byte. No part of a body is
// read before the sender is identified, except the part that fasthttp has buffered.
func (b *bodyReceiver) receive(c *fiber.Ctx) error {
	if !c.Request().IsBodyStream() {
		return c.Next()
	}
	body := &transferBody{Body: framing.NewBody(c.Context())}
	c.Locals(bodyKey, body)
	err := c.Next()
	b.finish(c, body)
	return cmp.Or(body.Violation(), err)
}

// receiveAll reads the body of a request completely. receiveAll does not read a body that is
// too large: the sender gets a response, and the connection is closed.
func receiveAll(c *fiber.Ctx) error {
	arriving, ok := c.Locals(bodyKey).(*transferBody)
	if !ok {
		return nil
	}
	length := c.Request().Header.ContentLength()
	if length > taskfile.MaxSize {
		return errBodyTooLarge
	}
	body, err := readBody(arriving, length)
	if err != nil {
		c.Context().SetConnectionClose()
		return cmp.Or(arriving.Violation(), errShortBody)
	}
	if len(body) > taskfile.MaxSize {
		return errBodyTooLarge
	}
	arriving.end = io.EOF // SetBodyRaw ends the stream, which must not be read afterwards
	c.Request().SetBodyRaw(body)
	return nil
}

var errBodyTooLarge = problem.New(problem.TooLarge, fmt.Sprintf("the body is larger than %d bytes", taskfile.MaxSize))

var errShortBody = problem.New(problem.Malformed, "the body ends too early; send as many bytes as the header states")

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
