package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/exec"
	"k8s-cli/pkg/task/problem"
)

// addExec adds the routes of exec sessions in the pods of tasks. Only the owner of a task may open
// sessions: an administrator may not, because a session can read the secrets of the task.
func (s *Server) addExec(who *callers, audit *auditor, c Config) {
	s.exec = &exec.Handler{
		Pods: c.Pods, Slots: s.slots.sessions, Limits: c.ExecLimits, Closing: s.closing,
		Owned: func(ctx context.Context, user, id string) error {
			return who.viewer.Read(ctx).Owns(user, id)
		},
		Identify: func(c *fiber.Ctx, user, what string) (*exec.Caller, error) {
			if who.isForeign(c) {
				return nil, errForeignOrigin
			}
			check, err := who.recheck(c, user)
			return &exec.Caller{
				User: user, Check: check, Record: audit.line(c, user, what),
				Session: func(parent context.Context) (context.Context, context.CancelFunc) {
					return who.sessions.Stream(c, parent)
				},
			}, err
		},
	}
	s.app.Get("/tasks/:id/exec", who.authenticated(s.exec.Exec))
	s.app.Get("/tasks/:id/port-forward", who.authenticated(s.exec.PortForward))
}

var errReassigned = problem.New(problem.Unauthorized, "the credentials of the request belong to another user now")

// recheck returns a function that checks again, after the request of a user, that its credentials are
// those of the user.
func (a *callers) recheck(c *fiber.Ctx, user string) (func(context.Context) error, error) {
	if check := a.sessions.Recheck(c); check != nil {
		return check, nil
	}
	if a.auth == nil {
		return func(context.Context) error { return nil }, nil
	}
	caller, err := a.credentials(c)
	return func(ctx context.Context) error {
		who, err := a.auth.Identify(ctx, caller)
		if err == nil && who.User != user {
			return errReassigned
		}
		return err
	}, err
}
