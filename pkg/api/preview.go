package api

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

// unlessDry hands requests that only ask what would become of a task to preview.
func unlessDry(handle, preview func(c *fiber.Ctx, user string) error) func(c *fiber.Ctx, user string) error {
	return func(c *fiber.Ctx, user string) error {
		dry, err := flag(c, "dry_run", false)
		switch {
		case err != nil:
			return err
		case dry:
			return preview(c, user)
		}
		return handle(c, user)
	}
}

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
	defer s.limits.submitted(user)
	command, err := s.drawn(sub)
	if err != nil {
		return err
	}
	objects, more, err := s.config.Preview(*command.Submit)
	if err != nil {
		return err
	}
	return c.JSON(task.NewPreview(objects, append(sub.warnings, more...)))
}
