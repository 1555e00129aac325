package api

import (
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/params"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task/usage"
)

// A usageHandler serves GET /usage.
type usageHandler struct {
	viewer  *status.Viewer
	callers *callers
}

// showUsage reports the resources that ended tasks of the caller or of all users have used.
func (h *usageHandler) showUsage(c *fiber.Ctx, user string) error {
	q := usage.Query{User: user}
	var err error
	if q.AllUsers, err = h.callers.allUsers(c); err != nil {
		return err
	}
	if q.Group, err = params.Group(c); err != nil {
		return err
	}
	if q.By, err = usage.ParseBy(c.Query("by")); err != nil {
		return err
	}
	if q.Since, err = usage.ParseSince(c.Query("since"), time.Now()); err != nil {
		return err
	}
	return send(c, h.viewer.Read(c.UserContext()).Usage(q), nil)
}
