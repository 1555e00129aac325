// Package params reads the parameters of requests.
package params

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
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
		return false, problem.New(problem.Invalid, fmt.Sprintf("%s: %q is neither true nor false", name, value))
	}
}

// Group returns the group that a query parameter names, "" if the parameter is missing.
func Group(c *fiber.Ctx) (string, error) {
	if !c.Context().QueryArgs().Has(group.Param) {
		return "", nil
	}
	name := c.Query(group.Param)
	if err := group.CheckName(name); err != nil {
		return "", problem.New(problem.Invalid, group.Param+": "+err.Error())
	}
	return name, nil
}

// Membership returns the group that the parameters of a submission name, and its limits.
func Membership(c *fiber.Ctx) (m group.Membership, err error) {
	if m.Group, err = Group(c); err != nil {
		return m, err
	}
	if m.MaxParallel, err = group.ParseMaxParallel(c.Query(group.MaxParallelParam)); err != nil {
		return m, err
	}
	if m.FailFast, err = Bool(c, group.FailFastParam, false); err != nil {
		return m, err
	}
	return m, m.Check()
}
