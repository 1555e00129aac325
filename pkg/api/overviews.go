package api

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/status"
)

// An overviewHandler shows how many tasks there are and what the cluster offers.
type overviewHandler struct {
	viewer  *status.Viewer
	callers *callers
}

func (h *overviewHandler) summary(c *fiber.Ctx, user string) error {
	all, err := h.callers.allUsers(c)
	if err != nil {
		return err
	}
	return send(c, h.viewer.Read(c.UserContext()).Summary(user, all, known(c)), nil)
}

func (h *overviewHandler) capacity(c *fiber.Ctx, _ string) error {
	return send(c, h.viewer.Read(c.UserContext()).Capacity(known(c)), nil)
}
