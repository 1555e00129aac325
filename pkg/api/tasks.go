package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/pkg/trace"
)

func (s *Server) submitTask(c *fiber.Ctx, user string) error {
	t, warnings, err := taskOf(c)
	if err != nil {
		return err
	}
	key, err := keyOf(c)
	if err != nil {
		return err
	}
	answer, err := s.submit(c.UserContext(), user, key, t, warnings)
	if err != nil {
		return err
	}
	c.Locals(aboutKey, answer.ID)
	return c.JSON(answer)
}

// submit has the log take one task, if this server does. The warnings are those
// that reading it gave.
func (s *Server) submit(ctx context.Context, user, key string, t task.Spec, warnings []string) (task.Submitted, error) {
	sub, err := s.prepare(user, key, t, warnings)
	if err != nil {
		return task.Submitted{}, err
	}
	defer s.limits.release(user)
	sub.submit.Trace = trace.Parent(ctx)
	result, err := s.appendWithFreshID(ctx, func() (task.Command, error) { return s.withNewID(sub) })
	if err != nil {
		return task.Submitted{}, err
	}
	return sub.accepted(result), nil
}

// A submission is a task that this server takes, if the log does.
type submission struct {
	submit   *task.Submit
	warnings []string
}

func (s *submission) accepted(v task.Result) task.Submitted {
	return task.NewSubmitted(v.ID, append(s.warnings, v.Warnings...))
}

// prepare checks what can be known of a task before the log has it. It counts
// against the limits of its user until release is called.
func (s *Server) prepare(user, key string, t task.Spec, warnings []string) (*submission, error) {
	if err := s.checkFiles(t); err != nil {
		return nil, err
	}
	if err := s.config.Limits.Check(t); err != nil {
		return nil, err
	}
	if err := s.config.Policy.Check(t); err != nil {
		return nil, err
	}
	if err := s.limits.reserve(user, key); err != nil {
		return nil, err
	}
	choice, warning := s.choose(t.Resources.Alternatives())
	if warning != "" {
		warnings = append(warnings, warning)
	}
	submit := &task.Submit{User: user, Task: t, Choice: choice, Key: key}
	submit.Image = cmp.Or(submit.Resources().Image(), s.config.DefaultImage)
	if len(t.Uploads) > 0 {
		submit.Files = s.config.Uploads.Advertise
	}
	return &submission{submit, warnings}, nil
}

// withNewID returns the command of a submission under an id that it did not have yet.
func (s *Server) withNewID(sub *submission) (task.Command, error) {
	if sub.submit.ID != "" { // that is taken
		sub.submit = new(*sub.submit)
	}
	sub.submit.ID = task.NewID()
	inLog, err := s.sealed(sub.submit)
	return task.Command{Submit: inLog}, err
}

// choose returns which of the alternatives the task gets: the first that a node
// of the cluster could hold if nothing else ran there. If that is not known, or
// none could, it is the first of all; the warning says so where it matters.
func (s *Server) choose(all []task.Resources) (choice int, warning string) {
	if len(all) == 1 {
		return 0, ""
	}
	for i, r := range all {
		can, known := false, false
		if s.config.CanHold != nil {
			can, known = s.config.CanHold(r)
		}
		switch {
		case !known:
			return 0, fmt.Sprintf("resources: using the first of %d alternatives%s: this server cannot read the machines of the cluster", len(all), describe(r))
		case can && i == 0:
			return 0, ""
		case can:
			return i, fmt.Sprintf("resources: using alternative %d of %d%s: no machine can hold the earlier alternatives", i+1, len(all), describe(r))
		}
	}
	return 0, fmt.Sprintf("resources: using the first of %d alternatives%s, and the task waits: no machine can hold any alternative", len(all), describe(all[0]))
}

// describe names an alternative by its accelerators, if it has any.
func describe(r task.Resources) string {
	if r.Accelerators == "" {
		return ""
	}
	return " (" + r.Accelerators + ")"
}

// checkFiles reports what keeps the files of a task from reaching its pods.
func (s *Server) checkFiles(t task.Spec) error {
	if len(t.Uploads) > 0 {
		if err := s.config.Uploads.ready(); err != nil {
			return err
		}
	}
	return t.CheckUploaded()
}

// sealed returns a submission as the log may have it.
func (s *Server) sealed(submit *task.Submit) (*task.Submit, error) {
	if len(submit.Task.Secrets) == 0 {
		return submit, nil
	}
	if s.config.Seal == nil {
		return nil, task.Error(task.ErrInvalid, "secrets: this server has no key to seal secrets; the administrator can set --secrets-key-file")
	}
	inLog, err := s.config.Seal(*submit)
	return &inLog, err
}

// taskOf reads the task that a request carries.
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

// appendWithFreshID appends a command with a random id until it has one that is not taken.
func (s *Server) appendWithFreshID(ctx context.Context, command func() (task.Command, error)) (task.Result, error) {
	if err := s.log.CheckCapacity(); err != nil {
		return task.Result{}, err
	}
	for {
		next, err := command()
		if err != nil {
			return task.Result{}, err
		}
		result, err := s.log.Append(ctx, next)
		if err == nil {
			err = errorOfResult(result)
		}
		if !errors.Is(err, errTaken) {
			return result, err
		}
	}
}

var errTaken = errors.New("the new id is already in use")

// errorOfResult says in words why the log refused a command, if it did.
func errorOfResult(v task.Result) error {
	switch v.Rejection {
	case "":
		return nil
	case task.RejectedIDExists:
		return errTaken
	case task.RejectedKeyReuse:
		return task.Error(task.ErrConflict, fmt.Sprintf("%s: the key was already used with another body, for %s; use another key", keyHeader, v.ID))
	case task.RejectedMissingUploads:
		return task.Error(task.ErrConflict, fmt.Sprintf("uploads: %s is not on the server; PUT it to /uploads/%[1]s and submit again", v.Sums[0]))
	}
	return fmt.Errorf("the log rejected a command: %s", v.Rejection)
}

func (s *Server) stopTask(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	user = s.ownerOf(c, user, task.KindTask, id)
	result, err := s.log.Append(c.UserContext(), task.Command{Stop: &task.Stop{User: user, ID: id}})
	if err != nil {
		return err
	}
	if result.Rejection != "" {
		return task.ErrNoTask(id)
	}
	return c.JSON(task.NewStoppedOne(id))
}

func (s *Server) stopTasks(c *fiber.Ctx, user string) error {
	all, err := s.allUsers(c)
	if err != nil {
		return err
	}
	result, err := s.log.Append(c.UserContext(), task.Command{StopAll: &task.StopAll{User: user, AllUsers: all}})
	if err != nil {
		return err
	}
	return c.JSON(task.NewStoppedAll(result.Count, all))
}

func (s *Server) showTask(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	answer, err := s.viewer.Task(c.UserContext(), s.ownerOf(c, user, task.KindTask, id), id)
	return send(c, answer, err)
}

func (s *Server) showSpec(c *fiber.Ctx, user string) error {
	id := c.Params("id")
	answer, err := s.viewer.Spec(c.UserContext(), s.ownerOf(c, user, task.KindTask, id), id)
	return send(c, answer, err)
}

func (s *Server) listTasks(c *fiber.Ctx, user string) error {
	query, err := s.queryOf(c, phases)
	if err != nil {
		return err
	}
	query.User = user
	known := func(etag string) bool { return matches(c.Get(fiber.HeaderIfNoneMatch), etag) }
	return send(c, s.viewer.Tasks(c.UserContext(), query, known), nil)
}

var phases = []task.Phase{task.Pending, task.Running, task.Completed, task.Failed, task.Stopped}

// queryOf returns what narrows a list of objects that may have these phases.
func (s *Server) queryOf(c *fiber.Ctx, phases []task.Phase) (q task.Query, err error) {
	if q.AllUsers, err = s.allUsers(c); err != nil {
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
