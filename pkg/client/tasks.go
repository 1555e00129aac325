package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/query"
)

// Submit submits t. After Submit returns, the server has stored the task and lists the
// task.
func (c *Client) Submit(ctx context.Context, t task.Spec) (task.Submitted, error) {
	return c.SubmitToGroup(ctx, group.Membership{}, t)
}

// Preview returns what the server would create for t. Preview submits nothing.
func (c *Client) Preview(ctx context.Context, t task.Spec) (task.Preview, error) {
	var answer task.Preview
	err := c.do(ctx, request{method: http.MethodPost, path: "/tasks/preview", body: t, same: true}, &answer)
	return answer, err
}

// Task returns the status of one task.
func (c *Client) Task(ctx context.Context, id string) (task.Status, error) {
	var answer task.Status
	path, err := objectPath(task.KindTask, id)
	if err != nil {
		return answer, err
	}
	if err = c.do(ctx, request{method: http.MethodGet, path: path}, &answer); err == nil {
		err = c.checkAnswer("task", id, answer.ID)
	}
	return answer, err
}

// Spec returns the specification of a task as submitted, with task.Redacted in place of
// each secret.
func (c *Client) Spec(ctx context.Context, id string) (task.Spec, error) {
	var answer task.Spec
	path, err := objectPath(task.KindTask, id, "spec")
	if err != nil {
		return answer, err
	}
	err = c.do(ctx, request{method: http.MethodGet, path: path}, &answer)
	return answer, err
}

// Top returns the CPUs and the memory that the nodes of a task use.
func (c *Client) Top(ctx context.Context, id string) (task.TopTask, error) {
	var answer task.TopTask
	path, err := objectPath(task.KindTask, id, "top")
	if err != nil {
		return answer, err
	}
	if err = c.do(ctx, request{method: http.MethodGet, path: path}, &answer); err == nil {
		err = c.checkAnswer("task", id, answer.ID)
	}
	return answer, err
}

// Tasks returns the tasks of the user, or of all users, newest first.
func (c *Client) Tasks(ctx context.Context, allUsers bool) ([]task.Status, error) {
	var answer task.List
	err := c.do(ctx, request{method: http.MethodGet, path: "/tasks", query: allUsersQuery(allUsers)}, &answer)
	return answer.Tasks, err
}

// Stop stops one task. If the task is over, Stop changes nothing. A repeated request returns the
// first response.
func (c *Client) Stop(ctx context.Context, id string) (task.StopResponse, error) {
	var answer task.StopResponse
	path, err := objectPath(task.KindTask, id, "stop")
	if err != nil {
		return answer, err
	}
	if err = c.do(ctx, request{method: http.MethodPost, path: path, key: newKey()}, &answer); err == nil {
		err = c.checkAnswer("task", id, answer.ID)
	}
	return answer, err
}

// StopAll stops every task of the user, or of all users, that is not over. A repeated request
// returns the first count.
func (c *Client) StopAll(ctx context.Context, allUsers bool) (task.StopAllResponse, error) {
	return c.StopTasks(ctx, query.Tasks{AllUsers: allUsers})
}

// StopTasks stops the tasks that q selects and that are not over; without filters, q selects all tasks
// of the user. The server rejects filters that depend on the cluster: Reasons, Machines and ExitCodes.
// A repeated request returns the first count.
func (c *Client) StopTasks(ctx context.Context, q query.Tasks) (task.StopAllResponse, error) {
	var answer task.StopAllResponse
	err := c.do(ctx, request{method: http.MethodPost, path: "/tasks/stop", query: q.Values(), key: newKey()}, &answer)
	return answer, err
}

const (
	batchTasks = 5000     // largest number of tasks in one request
	batchBytes = 32 << 20 // largest size of one request; a single task may be larger
)

// SubmitAll submits many tasks in batches. Each task has a result of its own, in the order
// of all. SubmitAll retries the tasks for which the server was too busy until the client's
// timeout; the idempotency key prevents duplicates. If the server rejected tasks, the error is a
// *RejectedError. After another error, the results cover only the batches before the error.
func (c *Client) SubmitAll(ctx context.Context, all []task.Spec) (results []task.BatchResult, err error) {
	items := make([]Item, len(all))
	for i, t := range all {
		items[i].Spec = t
	}
	return c.SubmitItems(ctx, items)
}

// An Item is one task of a batch. All fields besides the task may be empty. The name of the task is
// Spec.Name, because a job group has a name too.
type Item struct {
	task.Spec
	group.Membership
	group.JobGroupItem

	Key      string   `json:"idempotency_key,omitempty"`
	After    []string `json:"after,omitempty"`     // ids or keys of tasks that must complete before this task starts
	AfterAny []string `json:"after_any,omitempty"` // ids or keys of tasks that must end before this task starts
}

// SubmitItems is SubmitAll for tasks that may belong to groups.
func (c *Client) SubmitItems(ctx context.Context, all []Item) (results []task.BatchResult, err error) {
	if results, err = c.SubmitEach(ctx, all); err == nil {
		err = rejections(results)
	}
	return results, err
}

// SubmitEach is SubmitItems without an error for rejected tasks: a result whose Code is not 0
// belongs to a rejected task.
func (c *Client) SubmitEach(ctx context.Context, all []Item) (results []task.BatchResult, err error) {
	for len(all) > 0 {
		batch, size := make([]json.RawMessage, 0, min(len(all), batchTasks)), 0
		for _, t := range all {
			raw, err := task.Marshal(t)
			if err != nil {
				return results, fmt.Errorf("encode a task: %w", err)
			}
			if size += len(raw); len(batch) == batchTasks || size > batchBytes && len(batch) > 0 {
				break
			}
			batch = append(batch, raw)
		}
		some, err := c.submitBatch(ctx, batch)
		results = append(results, some...)
		if err != nil {
			return results, err
		}
		all = all[len(batch):]
	}
	return results, nil
}

func (c *Client) submitBatch(ctx context.Context, batch []json.RawMessage) ([]task.BatchResult, error) {
	r := request{method: http.MethodPost, path: "/tasks/batch", body: batch, key: newKey()}
	for began := time.Now(); ; {
		var answer task.Batch
		if err := c.do(ctx, r, &answer); err != nil {
			return nil, err
		}
		if len(answer.Results) != len(batch) {
			return nil, fmt.Errorf("%s answered for %d of %d tasks", c.url, len(answer.Results), len(batch))
		}
		busy := slices.ContainsFunc(answer.Results, func(r task.BatchResult) bool { return r.Code == http.StatusServiceUnavailable })
		if !busy || time.Since(began) > c.timeout {
			return answer.Results, nil
		}
		select {
		case <-time.After(c.jittered(busyPause)):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
