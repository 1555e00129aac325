package api

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/trace"
)

const requestID = "X-Request-Id"

// unsafePath matches empty, . and .. as segments of a path, percent-encoded or not.
var unsafePath = regexp.MustCompile(`(?i)/(\.|%2e){0,2}/|.+/(\.|%2e){1,2}$|%2f|%5c|\\`)

// mayBeUnsafe is a cheap filter: if mayBeUnsafe returns false, unsafePath does not match.
func mayBeUnsafe(path []byte) bool {
	return bytes.ContainsAny(path, `%\`) || bytes.Contains(path, []byte("//")) || bytes.Contains(path, []byte("/."))
}

var requestIDForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

// identify sets the request id: the id from the request header if valid, or else a random
// id.
func identify(c *fiber.Ctx) error {
	id := c.Get(requestID)
	if !requestIDForm.MatchString(id) {
		id = rand.Text()
	}
	c.Set(requestID, id)
	return c.Next()
}

// exactPath rejects paths that the router would normalise to another path. For example, an
// empty id would turn POST /tasks//stop into POST /tasks/stop, which stops every task.
func exactPath(c *fiber.Ctx) error {
	path, _, _ := bytes.Cut(c.Request().Header.RequestURI(), []byte("?"))
	// A request to a proxy has an absolute URI, and servers must accept absolute URIs: RFC
	// 9112, section 3.2.2.
	if rest, absolute := afterScheme(path); absolute {
		path = rest[max(bytes.IndexByte(rest, '/'), 0):]
	}
	if mayBeUnsafe(path) && unsafePath.Match(path) {
		return problem.New(problem.RouteNotFound, "no such route: "+framing.Method(c)+" "+string(path))
	}
	return c.Next()
}

func afterScheme(target []byte) (rest []byte, absolute bool) {
	for _, scheme := range []string{"http://", "https://"} {
		if rest, absolute = bytes.CutPrefix(target, []byte(scheme)); absolute {
			return rest, true
		}
	}
	return target, false
}

// recoverPanic turns a panic of a handler into an error of the request.
func recoverPanic(c *fiber.Ctx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return c.Next()
}

// closeRefusedUpgrade closes the connection of a request that asks for another protocol, unless the
// server accepts. A proxy that does not read the response could take the following requests of
// the connection for frames of a WebSocket.
func closeRefusedUpgrade(c *fiber.Ctx) error {
	asked := len(c.Request().Header.Peek(fiber.HeaderUpgrade)) > 0
	err := c.Next()
	if asked && (err != nil || c.Response().StatusCode() != fiber.StatusSwitchingProtocols) {
		c.Context().SetConnectionClose()
	}
	return err
}

// An errorWriter writes the responses of failed requests.
type errorWriter struct {
	callers *callers
	logger  *slog.Logger // logs internal errors
}

// fail turns an error into a response. No other function does.
func (e *errorWriter) fail(c *fiber.Ctx, err error) error {
	code, text := e.statusAndMessage(c, err)
	switch code {
	case fiber.StatusServiceUnavailable:
		c.Set(fiber.HeaderRetryAfter, "1")
	case fiber.StatusTooManyRequests:
		c.Set(fiber.HeaderRetryAfter, retryAfter(err))
	case fiber.StatusUnauthorized:
		c.Set(fiber.HeaderWWWAuthenticate, e.callers.challenge(c))
	}
	if refused, ok := errors.AsType[*fiber.Error](err); ok {
		text = fiberMessage(c, refused)
	}
	return c.Status(code).JSON(task.Detail{Detail: text, Reason: string(reasonOf(err)), Field: problem.Field(err)})
}

// rejectUnread answers a request whose header could not be read. The response does not
// contain the error text of fasthttp, because that text quotes the header, which may
// contain a token.
func (e *errorWriter) rejectUnread(app *fiber.App, ctx *fasthttp.RequestCtx, err error) {
	c := app.AcquireCtx(ctx)
	defer app.ReleaseCtx(c)
	c.Set(requestID, rand.Text())
	markPrivate(c)
	_ = e.fail(c, framing.HeadError(ctx.Conn(), err)) // JSON of this package always encodes
}

// statusAndMessage returns the status and the message of the response for err. An internal
// error goes to the log in full, and the message contains only the request id.
func (e *errorWriter) statusAndMessage(c *fiber.Ctx, err error) (code int, text string) {
	code = statusCode(err)
	if code != fiber.StatusInternalServerError {
		return code, err.Error()
	}
	id := string(c.Response().Header.Peek(requestID))
	e.logger.Error("request failed", "method", c.Method(), "path", c.Path(), "request", id, "trace", trace.ID(c.UserContext()), "err", err)
	return code, "internal error; report it to the administrator with the request id " + id
}

// fiberMessage returns the message for an error of Fiber.
func fiberMessage(c *fiber.Ctx, e *fiber.Error) string {
	switch e.Code {
	case fiber.StatusNotFound:
		return fmt.Sprintf("no such route: %s %s", framing.Method(c), c.Path())
	case fiber.StatusMethodNotAllowed:
		return fmt.Sprintf("%s is not allowed on %s; use %s", framing.Method(c), c.Path(), c.Response().Header.Peek(fiber.HeaderAllow))
	}
	if text := http.StatusText(e.Code); e.Message == "" || e.Message == text {
		return strings.ToLower(text)
	}
	return e.Message
}

// reasonOf returns the reason of an error, also of an error of Fiber.
func reasonOf(err error) problem.Reason {
	e, ok := errors.AsType[*fiber.Error](err)
	switch {
	case !ok:
		return problem.Of(err)
	case e.Code == fiber.StatusNotFound:
		return problem.RouteNotFound
	}
	return problem.OfCode(e.Code)
}

func statusCode(err error) int {
	if e, ok := errors.AsType[*fiber.Error](err); ok {
		return e.Code
	}
	return problem.Of(err).Code()
}

// batchResult returns the result of a task of a batch that failed.
func (e *errorWriter) batchResult(c *fiber.Ctx, err error) task.BatchResult {
	code, text := e.statusAndMessage(c, err)
	return task.BatchResult{Code: code, Detail: text, Reason: string(reasonOf(err)), Field: problem.Field(err)}
}

// retryAfter returns the value of the header Retry-After for a temporary error, in seconds.
func retryAfter(err error) string {
	seconds := 1
	if e, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		seconds = max(1, int((e.RetryAfter()+time.Second-1)/time.Second))
	}
	return strconv.Itoa(seconds)
}
