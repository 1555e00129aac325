package api

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/browser"
	"k8s-cli/pkg/trace"
)

// An auditor writes the audit log.
type auditor struct{ logger *slog.Logger }

// withAudit logs one line for each request that changes something, successful or not. A
// batch has one line.
func (a *auditor) withAudit(what string, handle func(c *fiber.Ctx, user string) error) func(c *fiber.Ctx, user string) error {
	return func(c *fiber.Ctx, user string) error {
		err := handle(c, user)
		a.record(c, user, what, err)
		return err
	}
}

// withForeignReads logs one line for each request of an administrator that reads an object of another
// user.
func (a *auditor) withForeignReads(what string, handle func(c *fiber.Ctx, user string) error) func(c *fiber.Ctx, user string) error {
	return func(c *fiber.Ctx, user string) error {
		err := handle(c, user)
		if owner, ok := c.Locals(ownerKey).(string); ok && owner != user {
			a.record(c, user, what, err)
		}
		return err
	}
}

// withLogin logs one line for each login of a browser, successful or not. The user of a login
// that failed is unknown.
func (a *auditor) withLogin(handle fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		err := handle(c)
		user, failure := browser.Begun(c)
		a.record(c, user, "begin session", cmp.Or(err, failure))
		return err
	}
}

func (a *auditor) record(c *fiber.Ctx, user, what string, err error) {
	code, result := c.Response().StatusCode(), "accepted"
	if err != nil {
		code, result = statusCode(err), err.Error()
	}
	a.line(c, user, what)(code, result)
}

// line returns a function that writes the line of a request, also after the request.
func (a *auditor) line(c *fiber.Ctx, user, what string) func(code int, result string, more ...slog.Attr) {
	if !a.logger.Enabled(context.Background(), slog.LevelInfo) {
		return func(int, string, ...slog.Attr) {}
	}
	id, request, peer := about(c), string(c.Response().Header.Peek(requestID)), c.Context().RemoteIP().String()
	var last []slog.Attr
	if owner, ok := c.Locals(ownerKey).(string); ok {
		last = append(last, slog.String("owner", owner))
	}
	if id := trace.ID(c.UserContext()); id != "" {
		last = append(last, slog.String("trace", id))
	}
	return func(code int, result string, more ...slog.Attr) {
		line := []slog.Attr{
			slog.String("user", user), slog.String("command", what), slog.String("id", id), slog.Int("code", code),
			slog.String("verdict", result), slog.String("request", request), slog.String("peer", peer),
		}
		a.logger.LogAttrs(context.Background(), slog.LevelInfo, "handled a request of a user", append(append(line, more...), last...)...)
	}
}

const (
	aboutKey = "about" // key in Locals: id of the object that the request created, or the filters of a stop
	ownerKey = "owner" // key in Locals: owner of the object, if the owner is not the sender
)

// about returns the id of the object of a request: the id of an object that the request
// created, or the id in the path.
func about(c *fiber.Ctx) string {
	if id, ok := c.Locals(aboutKey).(string); ok {
		return id
	}
	if id := c.Params("id"); id != "" {
		return id
	}
	if sum := c.Params("sum"); sum != "" {
		return sum
	}
	if group := c.Query("group"); group != "" {
		return "group=" + group
	}
	if all := c.Query("all_users"); all != "" {
		return "all_users=" + all
	}
	return ""
}
