package api

import (
	"context"
	"encoding/json"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task"
)

const previewPath = "/tasks/preview"

// A Previewer returns the objects of Kubernetes that a submission would have, and
// what would keep it from having them.
type Previewer interface {
	Preview(s task.Submit) (objects []json.RawMessage, warnings []string, err error)
}

// A previewHandler answers what would become of tasks.
type previewHandler struct {
	submitter *submitter
	previewer Previewer
	slots     *slots.Pool
	closing   context.Context //nolint:containedctx // ends with the server
}

// previewTask answers what would become of a task. It counts against the limits of
// its user as if it were submitted.
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
