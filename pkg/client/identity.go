package client

import (
	"context"
	"net/http"

	"k8s-cli/pkg/task"
)

// Login returns how the server wants to be told who asks.
func (c *Client) Login(ctx context.Context) (l task.Login, err error) {
	return l, c.do(ctx, request{method: http.MethodGet, path: "/auth"}, &l)
}

// Whoami returns who the server takes the caller for, and what that user may.
func (c *Client) Whoami(ctx context.Context) (w task.Whoami, err error) {
	return w, c.do(ctx, request{method: http.MethodGet, path: "/whoami"}, &w)
}
