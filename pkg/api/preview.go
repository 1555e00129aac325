package api

import (
	"context"
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task"
)

const previewPath = "/tasks/preview"

// A Previewer returns the Kubernetes objects of a submission, and warnings about what would
// prevent their creation.
type Previewer interface {
	Preview(s task.Submit) (objects []json.RawMessage, warnings []string, err error)
}

// A previewHandler serves previews of tasks.
type previewHandler struct {
	submitter *submitter
	previewer Previewer
	slots     *slots.Pool
	closing   context.Context //nolint:containedctx // ends with the server
}

// previewTask serves the preview of a task. A preview counts against the limits of the user
// like a submission.
func (h *previewHandler) previewTask(c *fiber.Ctx, user string) error {
	t, warnings, err := taskOf(c)
	if err != nil {
		return err
	}
	sub, err := h.submitter.prepare(user, "", t, warnings)
	if err != nil {
		return err
	}
	defer h.submitter.limits.release(user)
	command, err := h.submitter.withNewID(sub)
	if err != nil {
		return err
	}
	slot, err := h.slots.Take(h.closing, user)
	if err != nil {
		return err
	}
	defer slot.Release()
	objects, more, err := h.previewer.Preview(*command.Submit)
	if err != nil {
		return err
	}
	return c.JSON(task.NewPreview(objects, append(sub.warnings, more...)))
}
