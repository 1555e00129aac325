package api

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

const previewPath = "/tasks/preview"

// previewTask answers what would become of a task. It counts against the limits of
// its user as if it were submitted.
func (s *Server) previewTask(c *fiber.Ctx, user string) error {
	t, warnings, err := taskOf(c)
	if err != nil {
		return err
	}
	sub, err := s.prepare(user, "", t, warnings)
	if err != nil {
		return err
	}
	defer s.limits.release(user)
	command, err := s.withNewID(sub)
	if err != nil {
		return err
	}
	slot, err := s.slots.previews.Take(s.closing, user)
	if err != nil {
		return err
	}
	defer slot.Release()
	objects, more, err := s.config.Preview(*command.Submit)
	if err != nil {
		return err
	}
	return c.JSON(task.NewPreview(objects, append(sub.warnings, more...)))
}
