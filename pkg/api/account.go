package api

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/api/submission"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
	"k8s-cli/pkg/task/policy"
)

// An accountHandler serves the routes about authentication and the user of a request.
type accountHandler struct {
	callers    *callers
	method     task.Login // authentication method of the server
	taskLimits policy.Limits
	limits     *submission.Limits
	logs       *slots.Pool

	notifySecret func(user string) string // nil if the server sends no notifications
}

// login serves GET /auth: the authentication method of the server.
func (h *accountHandler) login(c *fiber.Ctx) error {
	login := h.method
	if login.By == "" {
		login.By = "header"
	}
	return c.JSON(login)
}

// whoami serves GET /whoami: the user that the server identified, with the limits and the
// usage of the user.
func (h *accountHandler) whoami(c *fiber.Ctx) error {
	who, err := h.callers.identity(c)
	if err != nil {
		return err
	}
	answer := task.Whoami{User: who.User, Groups: who.Groups, Admin: who.Admin, By: h.method.By}
	answer.Limits, answer.Usage = h.limits.Most(), h.limits.Usage(who.User)
	answer.Limits.Nodes = h.taskLimits.Nodes
	answer.Limits.LogStreams, answer.Usage.LogStreams = h.logs.Limit().PerUser, h.logs.Held(who.User)
	if answer.Groups == nil {
		answer.Groups = []string{}
	}
	if answer.By == "" {
		answer.By = "header"
	}
	return c.JSON(answer)
}

// showNotifySecret serves GET /notify/secret: the secret with which the user verifies the
// signatures of notifications.
func (h *accountHandler) showNotifySecret(c *fiber.Ctx, user string) error {
	if h.notifySecret == nil {
		return callback.ErrDisabled
	}
	return c.JSON(callback.Secret{Secret: h.notifySecret(user)})
}
