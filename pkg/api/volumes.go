package api

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
)

func (s *Server) createVolume(c *fiber.Ctx, user string) error {
	volume, err := volumeOf(c)
	if err != nil {
		return err
	}
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	result, err := s.appendWithFreshID(c.UserContext(), func() (task.Command, error) {
		return task.Command{Create: &task.Create{ID: task.NewVolumeID(), User: user, Volume: volume, Key: key}}, nil
	})
	if err != nil {
		return err
	}
	c.Locals(aboutKey, result.ID)
	return c.JSON(task.NewCreated(result.ID, result.Warnings))
}

// volumeOf reads the volume that a request carries.
func volumeOf(c *fiber.Ctx) (task.Volume, error) {
	kind, err := contentType(c)
	if err != nil {
		return task.Volume{}, err
	}
	if kind != typeJSON {
		return task.Volume{}, fiber.NewError(fiber.StatusUnsupportedMediaType, "Content-Type: send a volume as "+typeJSON)
	}
	body := c.Request().Body()
	return taskfile.ParseVolume(body)
}

func (s *Server) deleteVolume(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	force, err := flag(c, "force", false)
	if err != nil {
		return err
	}
	user = s.ownerOf(c, user, task.KindVolume, id)
	if !force {
		if err := s.checkNoPendingMounts(c, user, id); err != nil {
			return err
		}
	}
	result, err := s.log.Append(c.UserContext(), task.Command{Delete: &task.Delete{User: user, ID: id, Force: force}})
	switch {
	case err != nil:
		return err
	case result.Rejection == task.RejectedInUse:
		return errInUse(id, result.Tasks)
	case result.Rejection != "":
		return task.ErrNoVolume(id)
	}
	return c.JSON(task.NewDeleted(id))
}

// checkNoPendingMounts reports that tasks will mount a volume of user. The log knows it only
// once it says which claims they are given.
func (s *Server) checkNoPendingMounts(c *fiber.Ctx, user, id string) error {
	if owner, ok := s.viewer.Owner(c.UserContext(), task.Key{Kind: task.KindVolume, ID: id}); !ok || owner != user {
		return nil // the log will say that there is none
	}
	if waiting := s.viewer.PendingMounts(c.UserContext(), id); len(waiting) > 0 {
		return errInUse(id, waiting)
	}
	return nil
}

// errInUse says who uses a volume, and what to do about it.
func errInUse(id string, tasks []string) error {
	const named = 5
	names, use := strings.Join(tasks[:min(len(tasks), named)], ", "), "uses"
	if more := len(tasks) - named; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if len(tasks) > 1 {
		use = "use"
	}
	return task.Error(task.ErrConflict, fmt.Sprintf("Volume %s is in use: %s %s it; stop the tasks first, or force the deletion (?force=true, --force), which deletes the volume once their pods have ended", id, names, use))
}

func (s *Server) showVolume(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	answer, err := s.viewer.Volume(c.UserContext(), s.ownerOf(c, user, task.KindVolume, id), id)
	return send(c, answer, err)
}

var volumePhases = []task.Phase{task.VolumePending, task.VolumeBound, task.VolumeLost, task.VolumeFailed}

func (s *Server) listVolumes(c *fiber.Ctx, user string) error {
	query, err := s.queryOf(c, volumePhases)
	if err != nil {
		return err
	}
	query.User = user
	return send(c, s.viewer.Volumes(c.UserContext(), query), nil)
}
