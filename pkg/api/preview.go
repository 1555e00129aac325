package api

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
)

const previewPath = "/tasks/preview"

// A previewHandler serves previews of tasks.
type previewHandler struct {
	submitter *submitter
	preview   func(task.Submit) ([]json.RawMessage, []string, error)
	slots     *slots.Pool
	closing   context.Context //nolint:containedctx // ends with the server
}

// findings are the findings for the fields of a task file, in the body of a preview.
type findings struct {
	Findings []taskfile.Finding `json:"findings,omitempty"`
}

// check returns a finding for each field of a task file, none for a task as JSON.
func check(c *fiber.Ctx) findings {
	if kind, err := contentType(c); err != nil || kind != typeYAML {
		return findings{}
	}
	return findings{taskfile.Check(c.Request().Body(), taskfile.Overrides{})}
}

// previewTask serves the preview of a task. A preview counts against the limits of the user
// like a submission.
func (h *previewHandler) previewTask(c *fiber.Ctx, user string) error {
	t, warnings, err := taskOf(c)
	if errors.Is(err, problem.Invalid) {
		return c.Status(statusCode(err)).JSON(struct {
			task.Detail
			findings
		}{task.Detail{Detail: err.Error(), Reason: string(reasonOf(err)), Field: problem.Field(err)}, check(c)})
	}
	if err != nil {
		return err
	}
	sub, err := h.submitter.prepare(origin{user: user}, t, warnings)
	if err != nil {
		return err
	}
	defer h.submitter.limits.Release(user, 1)
	command, err := h.submitter.withNewID(sub)
	if err != nil {
		return err
	}
	slot, err := h.slots.Take(h.closing, user)
	if err != nil {
		return err
	}
	defer slot.Release()
	objects, more, err := h.preview(*command.Submit)
	if err != nil {
		return err
	}
	return c.JSON(struct {
		task.Preview
		findings
	}{task.NewPreview(objects, append(sub.warnings, more...)), check(c)})
}
