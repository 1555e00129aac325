package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/streams"
)

// addStreams adds the routes of sessions in the pods of tasks. Only the owner of a task may open
// sessions: an administrator may not, because a session can read the secrets of the task.
func (s *Server) addStreams(read Readers, who *callers, audit *auditor, c Config) {
	s.exec = &streams.Handler{
		Pods: c.Pods, Slots: s.slots.sessions, Limits: c.SessionLimits, Closing: s.closing,
		Owned: func(ctx context.Context, user, id string) error {
			_, err := read.Tasks.Task(ctx, user, id)
			return err
		},
		Identify: func(c *fiber.Ctx, user, what string) (*streams.Caller, error) {
			if who.isForeign(c) {
				return nil, errForeignOrigin
			}
			check, err := who.recheck(c)
			return &streams.Caller{
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

// recheck returns a function that checks the credentials of a request again, after the request.
func (a *callers) recheck(c *fiber.Ctx) (func(context.Context) error, error) {
	if a.auth == nil || a.sessions.Has(c) {
		return func(context.Context) error { return nil }, nil // a session of a browser ends its streams itself
	}
	caller, err := a.credentials(c)
	return func(ctx context.Context) error {
		_, err := a.auth.Identify(ctx, caller)
		return err
	}, err
}
