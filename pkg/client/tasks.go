package client

import (
	"context"
	"net/http"

	"k8s-cli/pkg/task"
)

// Submit hands in t. Once it returns, the server has stored the task and shows
// it.
func (c *Client) Submit(ctx context.Context, t task.Task) (task.Submitted, error) {
	var answer task.Submitted
	err := c.do(ctx, request{method: http.MethodPost, path: "/tasks/submit", body: t, key: newKey()}, &answer)
	return answer, err
}

// Task returns the status of one task.
func (c *Client) Task(ctx context.Context, id string) (task.Status, error) {
	var answer task.Status
	path, err := path(task.KindTask, id)
	if err != nil {
		return answer, err
	}
	err = c.do(ctx, request{method: http.MethodGet, path: path}, &answer)
	return answer, err
}

// Tasks returns the tasks of the user, or of all users, newest first.
func (c *Client) Tasks(ctx context.Context, allUsers bool) ([]task.Status, error) {
	var answer task.List
	err := c.do(ctx, request{method: http.MethodGet, path: "/tasks", query: allUsersQuery(allUsers)}, &answer)
	return answer.Tasks, err
}

// Stop stops one task. Stopping one that is over changes nothing.
func (c *Client) Stop(ctx context.Context, id string) (task.StoppedOne, error) {
	var answer task.StoppedOne
	path, err := path(task.KindTask, id, "stop")
	if err != nil {
		return answer, err
	}
	err = c.do(ctx, request{method: http.MethodPost, path: path, same: true}, &answer)
	return answer, err
}

// StopAll stops every task of the user, or of all users, that is not over.
func (c *Client) StopAll(ctx context.Context, allUsers bool) (task.StoppedAll, error) {
	var answer task.StoppedAll
	err := c.do(ctx, request{method: http.MethodPost, path: "/tasks/stop", query: allUsersQuery(allUsers)}, &answer)
	return answer, err
}
