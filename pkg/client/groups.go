package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/query"
)

// SubmitToGroup is Submit for a task of a group. The zero Membership means no group.
func (c *Client) SubmitToGroup(ctx context.Context, m group.Membership, t task.Spec) (task.Submitted, error) {
	var answer task.Submitted
	q := groupQuery(m.Group)
	if m.MaxParallel != 0 {
		q.Set(group.MaxParallelParam, strconv.Itoa(m.MaxParallel))
	}
	if m.FailFast {
		q.Set(group.FailFastParam, "true")
	}
	err := c.do(ctx, request{method: http.MethodPost, path: "/tasks/submit", query: q, body: t, key: newKey()}, &answer)
	return answer, err
}

// Group returns the state of a group of the user.
func (c *Client) Group(ctx context.Context, name string) (group.Group, error) {
	var answer group.Group
	if err := checkGroup(name); err != nil {
		return answer, err
	}
	err := c.do(ctx, request{method: http.MethodGet, path: "/groups/" + url.PathEscape(name)}, &answer)
	if err == nil {
		err = c.checkAnswer("group", name, answer.Name)
	}
	return answer, err
}

// A GroupQuery selects groups. The zero GroupQuery selects all groups of the user, newest first.
type GroupQuery struct {
	AllUsers bool
	Limit    int    // largest number of groups on a page; 0 means all
	Cursor   string // of the page, from the page before; empty means the first page
}

// Groups returns the page of groups that q selects. The Total of the page is unknown.
func (c *Client) Groups(ctx context.Context, q GroupQuery) (p Page[group.Group], err error) {
	query := url.Values{}
	if q.AllUsers {
		query.Set("all_users", "true")
	}
	if q.Limit > 0 {
		query.Set("limit", strconv.Itoa(q.Limit))
	}
	if q.Cursor != "" {
		query.Set("cursor", q.Cursor)
	}
	var answer group.List
	header := http.Header{}
	if err := c.do(ctx, request{method: http.MethodGet, path: "/groups", query: query, header: &header}, &answer); err != nil {
		return p, err
	}
	p.Items, p.Next, p.Stale = answer.Groups, header.Get("X-Next-Cursor"), header.Get("X-Stale")
	return p, nil
}

// StopGroup stops every task of a group of the user that is not over. If the user has no such
// group, StopGroup stops nothing. A repeated request returns the first count.
func (c *Client) StopGroup(ctx context.Context, name string) (task.StopAllResponse, error) {
	if err := checkGroup(name); err != nil {
		return task.StopAllResponse{}, err
	}
	return c.StopTasks(ctx, query.Tasks{Group: name})
}

// checkGroup returns an error if no group has a name. An empty name in a request could mean all
// tasks.
func checkGroup(name string) error {
	if group.CheckName(name) != nil {
		return group.NotFound(name)
	}
	return nil
}

func groupQuery(name string) url.Values {
	q := url.Values{}
	if name != "" {
		q.Set(group.Param, name)
	}
	return q
}
