package api

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"mime"
	"regexp"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

const userHeader = "X-User"

// userOf returns who asks: the one X-User header, blanks and tabs around it cut
// off. The string is the caller's to keep.
func userOf(c *fiber.Ctx) (string, error) {
	values := c.Request().Header.PeekAll(userHeader)
	if len(values) != 1 {
		return "", task.Error(task.ErrUnauthorized, fmt.Sprintf("%s: the request must have exactly one such header, not %d", userHeader, len(values)))
	}
	user, err := task.UserName(string(values[0]))
	if err != nil {
		return "", task.Error(task.ErrUnauthorized, userHeader+": the name "+err.Error())
	}
	return user, nil
}

const (
	keyHeader = "Idempotency-Key"
	maxKey    = 255 // bytes
)

var keyForm = regexp.MustCompile(`^[!-~]+$`)

// keyOf returns the idempotency key of a request, or "" if it has none.
func keyOf(c *fiber.Ctx) (string, error) {
	values := c.Request().Header.PeekAll(keyHeader)
	if len(values) == 0 {
		return "", nil
	}
	key := string(values[0])
	if len(values) > 1 {
		key = "" // none of them
	}
	return key, checkKey(keyHeader, key)
}

// checkKey reports what is wrong with an idempotency key, and where it stands.
func checkKey(where, key string) error {
	if len(key) > maxKey || !keyForm.MatchString(key) {
		return task.Error(task.ErrInvalid, fmt.Sprintf("%s: must be one word of at most %d printable ASCII characters", where, maxKey))
	}
	return nil
}

// Content types of a task.
const (
	typeJSON = "application/json"
	typeYAML = "application/yaml"
)

// contentType returns which of the known types the body has; no type means JSON.
func contentType(c *fiber.Ctx) (string, error) {
	given := c.Get(fiber.HeaderContentType)
	if encoding := c.Get(fiber.HeaderContentEncoding); encoding != "" && encoding != "identity" {
		return "", fiber.NewError(fiber.StatusUnsupportedMediaType, fmt.Sprintf("Content-Encoding: %q is not supported; send the body without encoding", encoding))
	}
	kind, _, err := mime.ParseMediaType(given)
	switch {
	case given == "", err == nil && (kind == typeJSON || strings.HasSuffix(kind, "+json")):
		return typeJSON, nil
	case err == nil && (kind == typeYAML || kind == "application/x-yaml" || kind == "text/yaml" || kind == "text/x-yaml"):
		return typeYAML, nil
	}
	return "", fiber.NewError(fiber.StatusUnsupportedMediaType, fmt.Sprintf("Content-Type: %q is not supported; send %s (or, for tasks, %s)", given, typeJSON, typeYAML))
}

// receive reads the body of every request, so that whatever answers it leaves
// the connection at the start of the next one. Uploads and batches are read by their
// handlers, once they know who asks. A body that is refused is not read: its sender
// gets the answer, and the connection ends.
func (s *Server) receive(c *fiber.Ctx) error {
	if !c.Request().IsBodyStream() {
		return c.Next()
	}
	stream := framing.NewBody(c.Context())
	upload := c.Method() == fiber.MethodPut && strings.HasPrefix(c.Path(), "/uploads/")
	if upload || c.Method() == fiber.MethodPost && strings.TrimSuffix(c.Path(), "/") == batchPath {
		body := &transferBody{Body: stream}
		c.Locals(bodyKey, body)
		err := c.Next() // reads it as it comes
		s.finish(c, body)
		return cmp.Or(stream.Violation(), err)
	}
	if c.Request().Header.ContentLength() > taskfile.MaxSize {
		return s.tooLarge(c)
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
	return s.tooLarge(c)
}

func (s *Server) tooLarge(c *fiber.Ctx) error {
	framing.AnswerFirst(s.closing, c.Context())
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
func (s *Server) finish(c *fiber.Ctx, body *transferBody) {
	if !body.Expected() && body.end == nil {
		if length := c.Request().Header.ContentLength(); length >= 0 && length <= bufferedBody {
			_, _ = io.Copy(io.Discard, body)
		}
	}
	if !errors.Is(body.end, io.EOF) {
		framing.AnswerFirst(s.closing, c.Context())
	}
}

// flag returns a boolean of the query.
func flag(c *fiber.Ctx, name string, absent bool) (bool, error) {
	if !c.Context().QueryArgs().Has(name) {
		return absent, nil
	}
	switch value := c.Query(name); strings.ToLower(value) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	default:
		return false, task.Error(task.ErrInvalid, fmt.Sprintf("%s: %q is neither true nor false", name, value))
	}
}
