package client

import (
	"context"
	"iter"
	"net/http"
	"strconv"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// A Page is one page of a list.
type Page[T any] struct {
	Items []T
	Total int    // tasks that match the filters, on all pages
	Next  string // cursor of the next page; empty on the last page
	Stale string // in what respect the page may be out of date, for example "log; age=3"; empty if it is not
}

// TaskPage returns the page of tasks that q selects.
func (c *Client) TaskPage(ctx context.Context, q query.Tasks) (Page[task.Status], error) {
	var answer task.List
	q.View = query.Full
	p, err := listPage[task.Status](ctx, c, q, &answer)
	p.Items = answer.Tasks
	return p, err
}

// RowPage is TaskPage with a short form of each task.
func (c *Client) RowPage(ctx context.Context, q query.Tasks) (Page[overview.Row], error) {
	var answer overview.Rows
	q.View = query.Row
	p, err := listPage[overview.Row](ctx, c, q, &answer)
	p.Items = answer.Tasks
	return p, err
}

// TaskPages returns the page that q selects and all pages after it. If a request fails, its
// error is the last element. A task that changes its position between two requests may be on
// two pages or on none; with the sorts created and name, no task changes its position.
func (c *Client) TaskPages(ctx context.Context, q query.Tasks) iter.Seq2[Page[task.Status], error] {
	return pages(q, func(q query.Tasks) (Page[task.Status], error) { return c.TaskPage(ctx, q) })
}

// RowPages is TaskPages with a short form of each task.
func (c *Client) RowPages(ctx context.Context, q query.Tasks) iter.Seq2[Page[overview.Row], error] {
	return pages(q, func(q query.Tasks) (Page[overview.Row], error) { return c.RowPage(ctx, q) })
}

// Summary returns counts of the tasks of the user, or of all users.
func (c *Client) Summary(ctx context.Context, allUsers bool) (overview.Summary, error) {
	var answer overview.Summary
	err := c.do(ctx, request{method: http.MethodGet, path: "/summary", query: allUsersQuery(allUsers)}, &answer)
	return answer, err
}

// Capacity returns what the machines of the cluster offer, and how much of it the tasks of the
// server have requested.
func (c *Client) Capacity(ctx context.Context) (overview.Capacity, error) {
	var answer overview.Capacity
	err := c.do(ctx, request{method: http.MethodGet, path: "/capacity"}, &answer)
	return answer, err
}

// listPage requests one page and decodes the body into answer.
func listPage[T any](ctx context.Context, c *Client, q query.Tasks, answer any) (p Page[T], err error) {
	header := http.Header{}
	if err := c.do(ctx, request{method: http.MethodGet, path: "/tasks", query: q.Values(), header: &header}, answer); err != nil {
		return p, err
	}
	p.Next, p.Stale = header.Get("X-Next-Cursor"), header.Get("X-Stale")
	p.Total, _ = strconv.Atoi(header.Get("X-Total-Count"))
	return p, nil
}

func pages[T any](q query.Tasks, get func(query.Tasks) (Page[T], error)) iter.Seq2[Page[T], error] {
	return func(yield func(Page[T], error) bool) {
		for q := q; ; { // each use of the sequence begins at the first page
			p, err := get(q)
			if !yield(p, err) || err != nil || p.Next == "" {
				return
			}
			q.Cursor = p.Next
		}
	}
}
