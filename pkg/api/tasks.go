package api

import (
	"cmp"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/params"
	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/taskfile"
)

// A taskHandler submits, stops and shows tasks.
type taskHandler struct {
	log       Log
	viewer    *status.Viewer
	callers   *callers
	submitter *submitter
}

func (h *taskHandler) submitTask(c *fiber.Ctx, user string) error {
	t, warnings, err := taskOf(c)
	if err != nil {
		return err
	}
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	group, err := params.Membership(c)
	if err != nil {
		return err
	}
	after, afterAny, err := predecessorsOf(c)
	if err != nil {
		return err
	}
	t.EventCallback = cmp.Or(c.Query(callback.Param), t.EventCallback)
	answer, err := h.submitter.submit(c.UserContext(), origin{user: user, key: key, group: group, after: after, afterAny: afterAny}, t, warnings)
	if err != nil {
		return err
	}
	c.Locals(aboutKey, answer.ID)
	return c.JSON(answer)
}

// taskOf parses the task in the body of a request.
func taskOf(c *fiber.Ctx) (task.Spec, []string, error) {
	kind, err := contentType(c)
	if err != nil {
		return task.Spec{}, nil, err
	}
	body := c.Request().Body()
	if kind == typeYAML {
		return taskfile.Parse(body)
	}
	return taskfile.ParseJSON(body)
}

func (h *taskHandler) stopTask(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	user = h.callers.ownerOf(c, user, task.KindTask, id)
	result, err := h.log.Append(c.UserContext(), task.Command{Stop: &task.Stop{User: user, ID: id, Key: key}})
	switch {
	case err != nil:
		return err
	case result.Rejection == task.RejectedKeyReuse:
		return errorOfResult(result)
	case result.Rejection != "":
		return task.ErrNoTask(id)
	}
	return c.JSON(task.NewStopResponse(id))
}

func (h *taskHandler) stopTasks(c *fiber.Ctx, user string) error {
	stop, err := h.callers.stopOf(c, user)
	if err != nil {
		return err
	}
	if stop.Key, err = keyOf(c); err != nil {
		return err
	}
	result, err := h.log.Append(c.UserContext(), task.Command{StopAll: &stop})
	if err == nil {
		err = errorOfResult(result)
	}
	if err != nil {
		return err
	}
	return c.JSON(task.NewStopAllResponse(result.Count, stop.AllUsers))
}

func (h *taskHandler) showTask(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	read, user := h.callers.readAs(c, user, task.KindTask, id)
	answer, err := read.Task(user, id)
	return send(c, answer, err)
}

func (h *taskHandler) showSpec(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	read, user := h.callers.readAs(c, user, task.KindTask, id)
	answer, err := read.Spec(c.UserContext(), user, id)
	return send(c, answer, err)
}

func (h *taskHandler) showTop(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	read, user := h.callers.readAs(c, user, task.KindTask, id)
	answer, err := read.Top(user, id)
	return send(c, answer, err)
}

func (h *taskHandler) listTasks(c *fiber.Ctx, user string) error {
	l, err := h.callers.listOf(c, user)
	if err != nil {
		return err
	}
	return sendPage(c, h.viewer.Read(c.UserContext()).Tasks(l, known(c)))
}
