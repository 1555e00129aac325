package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

// An OverviewReader answers with counts; without a body if the ETag is known.
type OverviewReader interface {
	Summary(ctx context.Context, user string, all bool, known func(etag string) bool) task.Answer
	Capacity(ctx context.Context, known func(etag string) bool) task.Answer
}

// An overviewHandler shows how many tasks there are and what the cluster offers.
type overviewHandler struct {
	reader  OverviewReader
	callers *callers
}

func (h *overviewHandler) summary(c *fiber.Ctx, user string) error {
	all, err := h.callers.allUsers(c)
	if err != nil {
		return err
	}
	return send(c, h.reader.Summary(c.UserContext(), user, all, known(c)), nil)
}

func (h *overviewHandler) capacity(c *fiber.Ctx, _ string) error {
	return send(c, h.reader.Capacity(c.UserContext(), known(c)), nil)
}
