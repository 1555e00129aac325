package api

import (
	"fmt"
	"mime"
	"regexp"
	"slices"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/params"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const userHeader = "X-User"

// userOf returns the user in the single X-User header, without surrounding spaces and tabs.
// The string remains valid after the request.
func userOf(c *fiber.Ctx) (string, error) {
	values := c.Request().Header.PeekAll(userHeader)
	if len(values) != 1 {
		return "", problem.New(problem.CredentialsMissing, fmt.Sprintf("%s: the request must have exactly one such header, not %d", userHeader, len(values)))
	}
	user, err := task.UserName(string(values[0]))
	if err != nil {
		return "", problem.New(problem.Unauthorized, userHeader+": the name "+err.Error())
	}
	return user, nil
}

const (
	keyHeader = "Idempotency-Key"
	maxKey    = 255 // bytes
)

var keyForm = regexp.MustCompile(`^[!-~]+$`)

// keyOf returns the idempotency key of a request or "".
func keyOf(c *fiber.Ctx) (string, error) {
	values := c.Request().Header.PeekAll(keyHeader)
	if len(values) == 0 {
		return "", nil
	}
	key := string(values[0])
	if len(values) > 1 {
		key = "" // several keys are invalid, which checkKey reports
	}
	return key, checkKey(keyHeader, key)
}

// checkKey returns an error if an idempotency key is invalid. where names the header or the
// field in the error.
func checkKey(where, key string) error {
	if len(key) > maxKey || !keyForm.MatchString(key) {
		return problem.New(problem.Invalid, fmt.Sprintf("%s: must be one word of at most %d printable ASCII characters", where, maxKey))
	}
	return nil
}

// The content types of a task.
const (
	typeJSON = "application/json"
	typeYAML = "application/yaml"
)

// contentType returns the supported content type of the body. A missing content type means
// JSON.
func contentType(c *fiber.Ctx) (string, error) {
	given := c.Get(fiber.HeaderContentType)
	if encoding := c.Get(fiber.HeaderContentEncoding); encoding != "" && encoding != "identity" {
		return "", problem.New(problem.UnsupportedMediaType, fmt.Sprintf("Content-Encoding: %q is not supported; send the body without encoding", encoding))
	}
	kind, _, err := mime.ParseMediaType(given)
	switch {
	case given == "", err == nil && (kind == typeJSON || strings.HasSuffix(kind, "+json")):
		return typeJSON, nil
	case err == nil && isYAML(kind):
		return typeYAML, nil
	}
	return "", problem.New(problem.UnsupportedMediaType, fmt.Sprintf("Content-Type: %q is not supported; send %s (or, for tasks, %s)", given, typeJSON, typeYAML))
}

// isYAML reports whether a content type is one of YAML.
func isYAML(kind string) bool {
	return slices.Contains([]string{typeYAML, "application/x-yaml", "text/yaml", "text/x-yaml"}, kind)
}

// flag returns a boolean query parameter, or absent if the parameter is missing.
func flag(c *fiber.Ctx, name string) (bool, error) { return params.Bool(c, name, false) }
