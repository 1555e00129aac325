package client

import (
	"context"
	"net/http"

	"k8s-cli/pkg/task"
)

// Login returns the authentication method of the server.
func (c *Client) Login(ctx context.Context) (l task.Login, err error) {
	return l, c.do(ctx, request{method: http.MethodGet, path: "/auth"}, &l)
}

// Whoami returns the user that the server identified, and the rights of the user.
func (c *Client) Whoami(ctx context.Context) (w task.Whoami, err error) {
	return w, c.do(ctx, request{method: http.MethodGet, path: "/whoami"}, &w)
}
