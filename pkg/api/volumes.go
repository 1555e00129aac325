package api

import (
	"fmt"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/status"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/taskfile"
)

// A volumeHandler creates, deletes and shows volumes.
type volumeHandler struct {
	log     Log
	viewer  *status.Viewer
	callers *callers
}

func (h *volumeHandler) createVolume(c *fiber.Ctx, user string) error {
	volume, err := volumeOf(c)
	if err != nil {
		return err
	}
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	result, err := appendWithFreshID(c.UserContext(), h.log, func() (task.Command, error) {
		return task.Command{Create: &task.Create{ID: task.NewVolumeID(), User: user, Volume: volume, Key: key}}, nil
	})
	if err != nil {
		return err
	}
	c.Locals(aboutKey, result.ID)
	return c.JSON(task.NewCreated(result.ID, result.Warnings))
}

// volumeOf parses the volume in the body of a request.
func volumeOf(c *fiber.Ctx) (task.Volume, error) {
	kind, err := contentType(c)
	if err != nil {
		return task.Volume{}, err
	}
	if kind != typeJSON {
		return task.Volume{}, problem.New(problem.UnsupportedMediaType, "Content-Type: send a volume as "+typeJSON)
	}
	body := c.Request().Body()
	return taskfile.ParseVolume(body)
}

func (h *volumeHandler) deleteVolume(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	force, err := flag(c, "force")
	if err != nil {
		return err
	}
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	read, user := h.callers.readAs(c, user, task.KindVolume, id)
	if !force {
		if err := checkNoPendingMounts(read, user, id); err != nil {
			return err
		}
	}
	result, err := h.log.Append(c.UserContext(), task.Command{Delete: &task.Delete{User: user, ID: id, Force: force, Key: key}})
	switch {
	case err != nil:
		return err
	case result.Rejection == task.RejectedInUse:
		return errInUse(id, result.Tasks)
	case result.Rejection == task.RejectedKeyReuse:
		return errorOfResult(result)
	case result.Rejection != "":
		return task.ErrNoVolume(id)
	}
	return c.JSON(task.NewDeleted(id))
}

// checkNoPendingMounts returns an error if tasks will mount a volume of user. The log does
// not know such a mount before the fact Resolved.
func checkNoPendingMounts(read status.Read, user, id string) error {
	if owner, ok := read.Store.Owner(task.Key{Kind: task.KindVolume, ID: id}); !ok || owner != user {
		return nil // the log rejects the deletion, because user has no such volume
	}
	if waiting := read.Store.PendingMounts(id); len(waiting) > 0 {
		return errInUse(id, waiting)
	}
	return nil
}

// errInUse returns the error for a volume that tasks use. The error names the tasks and
// says what to do.
func errInUse(id string, tasks []string) error {
	const named = 5
	names, use := strings.Join(tasks[:min(len(tasks), named)], ", "), "uses"
	if more := len(tasks) - named; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	if len(tasks) > 1 {
		use = "use"
	}
	return problem.New(problem.VolumeInUse, fmt.Sprintf("Volume %s is in use: %s %s it; stop the tasks first, or force the deletion (?force=true, --force), which deletes the volume once their pods have ended", id, names, use))
}

func (h *volumeHandler) showVolume(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	read, user := h.callers.readAs(c, user, task.KindVolume, id)
	answer, err := read.Volume(user, id)
	return send(c, answer, err)
}

var volumePhases = []task.Phase{task.VolumePending, task.VolumeBound, task.VolumeLost, task.VolumeFailed}

func (h *volumeHandler) listVolumes(c *fiber.Ctx, user string) error {
	query, err := h.callers.queryOf(c, volumePhases)
	if err != nil {
		return err
	}
	query.User = user
	return send(c, h.viewer.Read(c.UserContext()).Volumes(query), nil)
}
