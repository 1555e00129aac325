package client

import (
	"context"
	"net/http"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/callback"
)

// Login returns the authentication method of the server.
func (c *Client) Login(ctx context.Context) (l task.Login, err error) {
	return l, c.do(ctx, request{method: http.MethodGet, path: "/auth"}, &l)
}

// Whoami returns the user that the server identified, and the rights of the user.
func (c *Client) Whoami(ctx context.Context) (w task.Whoami, err error) {
	return w, c.do(ctx, request{method: http.MethodGet, path: "/whoami"}, &w)
}

// NotifySecret returns the secret with which the user verifies the signatures of notifications,
// in the form of Standard Webhooks.
func (c *Client) NotifySecret(ctx context.Context) (string, error) {
	var answer callback.Secret
	err := c.do(ctx, request{method: http.MethodGet, path: callback.SecretPath}, &answer)
	return answer.Secret, err
}
