package api

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
)

// A groupHandler shows groups of tasks.
type groupHandler struct {
	viewer  *status.Viewer
	callers *callers
}

func (h *groupHandler) listGroups(c *fiber.Ctx, user string) error {
	q, err := h.callers.queryOf(c, query.Phases)
	if err != nil {
		return err
	}
	q.User = user
	return send(c, h.viewer.Read(c.UserContext()).Groups(q), nil)
}

// showGroup shows a group of the caller. Callers who may list the tasks of all users may name
// another user, because users choose the names of their groups independently.
func (h *groupHandler) showGroup(c *fiber.Ctx, user string) error {
	if text := c.Query("user"); text != "" && text != user {
		owner, err := task.UserName(text)
		switch {
		case err != nil:
			return problem.New(problem.Invalid, "user: the name "+err.Error())
		case owner != user && !h.callers.everyUser(c):
			return errOtherUser
		}
		user = owner
	}
	answer, err := h.viewer.Read(c.UserContext()).Group(user, c.Params(group.Param))
	return send(c, answer, err)
}
