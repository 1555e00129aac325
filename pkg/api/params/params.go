// Package params reads the parameters of requests.
package params

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

// Bool returns a boolean query parameter, or absent if the parameter is missing.
func Bool(c *fiber.Ctx, name string, absent bool) (bool, error) {
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
