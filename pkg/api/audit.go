package api

import (
	"context"
	"log/slog"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/trace"
)

// An auditor logs what users had done.
type auditor struct{ logger *slog.Logger }

// withAudit logs what users had done, one line for each request that changes
// something, whatever became of it. Those of a batch share a line.
func (a *auditor) withAudit(what string, handle func(c *fiber.Ctx, user string) error) func(c *fiber.Ctx, user string) error {
	return func(c *fiber.Ctx, user string) error {
		err := handle(c, user)
		if !a.logger.Enabled(context.Background(), slog.LevelInfo) {
			return err
		}
		code, result := c.Response().StatusCode(), "accepted"
		if err != nil {
			code, result = statusCode(err), err.Error()
		}
		line := []slog.Attr{
			slog.String("user", user), slog.String("command", what), slog.String("id", about(c)), slog.Int("code", code),
			slog.String("verdict", result), slog.String("request", string(c.Response().Header.Peek(requestID))),
			slog.String("peer", c.Context().RemoteIP().String()),
		}
		if owner, ok := c.Locals(ownerKey).(string); ok {
			line = append(line, slog.String("owner", owner))
		}
		if id := trace.ID(c.UserContext()); id != "" {
			line = append(line, slog.String("trace", id))
		}
		a.logger.LogAttrs(context.Background(), slog.LevelInfo, "command", line...)
		return err
	}
}

const (
	aboutKey = "about" // under which a request carries the id of what it made
	ownerKey = "owner" // under which a request carries whose it is, if that is not who asks
)

// about returns the id of what a request is about: one that it made, or one that
// its path names.
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
	if all := c.Query("all_users"); all != "" {
		return "all_users=" + all
	}
	return ""
}
