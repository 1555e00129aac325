package client

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"k8s-cli/pkg/task"
)

// SubmitTogether submits all tasks, or none if one of them is rejected. A task may come after
// other tasks of items, in any order. The results are in the order of items. The error is of
// kind problem.TooLarge if the tasks do not fit one entry of the log.
func (c *Client) SubmitTogether(ctx context.Context, items []Item) ([]task.BatchResult, error) {
	var answer task.Batch
	r := request{method: http.MethodPost, path: "/tasks/batch", query: url.Values{"atomic": {"true"}}, body: items, key: newKey()}
	if err := c.do(ctx, r, &answer); err != nil {
		return nil, err
	}
	if len(answer.Results) != len(items) {
		return nil, fmt.Errorf("%s answered for %d of %d tasks", c.url, len(answer.Results), len(items))
	}
	return answer.Results, nil
}

// SubmitChain submits tasks that run one after the other: each task starts when the task before
// has completed. SubmitChain sets the keys of the items.
func (c *Client) SubmitChain(ctx context.Context, items []Item) ([]task.BatchResult, error) {
	base := newKey()
	for i := range items {
		if items[i].Key = fmt.Sprintf("%s/%d", base, i); i > 0 {
			items[i].After = []string{items[i-1].Key}
		}
	}
	return c.SubmitTogether(ctx, items)
}
