package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

// A TaskReader answers reads of tasks.
type TaskReader interface {
	// error of kind task.ErrNotFound if user has no such task
	Task(ctx context.Context, user, id string) (task.Answer, error)
	// error of kind task.ErrNotFound if user has no such task
	Spec(ctx context.Context, user, id string) (task.Answer, error)
	// newest first; without a body if the ETag is known
	Tasks(ctx context.Context, q task.Query, known func(etag string) bool) task.Answer
}

// A taskHandler submits, stops and shows tasks.
type taskHandler struct {
	log       Log
	tasks     TaskReader
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
	answer, err := h.submitter.submit(c.UserContext(), user, key, t, warnings)
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
	user = h.callers.ownerOf(c, user, task.KindTask, id)
	result, err := h.log.Append(c.UserContext(), task.Command{Stop: &task.Stop{User: user, ID: id}})
	if err != nil {
		return err
	}
	if result.Rejection != "" {
		return task.ErrNoTask(id)
	}
	return c.JSON(task.NewStopResponse(id))
}

func (h *taskHandler) stopTasks(c *fiber.Ctx, user string) error {
	all, err := h.callers.allUsers(c)
	if err != nil {
		return err
	}
	result, err := h.log.Append(c.UserContext(), task.Command{StopAll: &task.StopAll{User: user, AllUsers: all}})
	if err != nil {
		return err
	}
	return c.JSON(task.NewStopAllResponse(result.Count, all))
}

func (h *taskHandler) showTask(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	answer, err := h.tasks.Task(c.UserContext(), h.callers.ownerOf(c, user, task.KindTask, id), id)
	return send(c, answer, err)
}

func (h *taskHandler) showSpec(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	answer, err := h.tasks.Spec(c.UserContext(), h.callers.ownerOf(c, user, task.KindTask, id), id)
	return send(c, answer, err)
}

func (h *taskHandler) listTasks(c *fiber.Ctx, user string) error {
	query, err := h.callers.queryOf(c, phases)
	if err != nil {
		return err
	}
	query.User = user
	known := func(etag string) bool { return matches(c.Get(fiber.HeaderIfNoneMatch), etag) }
	return send(c, h.tasks.Tasks(c.UserContext(), query, known), nil)
}

var phases = []task.Phase{task.Pending, task.Running, task.Completed, task.Failed, task.Stopped}

// queryOf parses the filters of a list. phases lists the valid phases of the objects.
func (a *callers) queryOf(c *fiber.Ctx, phases []task.Phase) (q task.Query, err error) {
	if q.AllUsers, err = a.allUsers(c); err != nil {
		return q, err
	}
	q.Name, q.Phase = c.Query("name"), task.Phase(c.Query("status"))
	if q.Phase != "" && !slices.Contains(phases, q.Phase) {
		return q, task.Error(task.ErrInvalid, fmt.Sprintf("status: %q is not one of %v", q.Phase, phases))
	}
	if limit := c.Query("limit"); limit != "" {
		if q.Limit, err = strconv.Atoi(limit); err != nil || q.Limit < 1 {
			return q, task.Error(task.ErrInvalid, fmt.Sprintf("limit: %q is not a whole number of at least 1", limit))
		}
	}
	if cursor := c.Query("cursor"); cursor != "" {
		if q.Before, err = strconv.ParseUint(cursor, 10, 64); err != nil || q.Before < 1 {
			return q, task.Error(task.ErrInvalid, fmt.Sprintf("cursor: %q is not a cursor of this server", cursor))
		}
	}
	return q, nil
}
