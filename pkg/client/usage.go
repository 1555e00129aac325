package client

import (
	"context"
	"net/http"
	"strings"

	"k8s-cli/pkg/task/usage"
)

// A UsageQuery selects the usage of a report. The zero UsageQuery selects the usage of the user in
// the last 30 days, by day.
type UsageQuery struct {
	AllUsers bool
	Group    string   // only this group; empty means all tasks
	Since    string   // age in days or weeks, or a date; empty means 30d
	By       []string // usage.ByDay, usage.ByUser and usage.ByGroup; empty means by day
}

// Usage returns the resources that ended tasks have used.
func (c *Client) Usage(ctx context.Context, q UsageQuery) (report usage.Report, err error) {
	query := groupQuery(q.Group)
	if q.AllUsers {
		query.Set("all_users", "true")
	}
	if q.Since != "" {
		query.Set("since", q.Since)
	}
	if len(q.By) > 0 {
		query.Set("by", strings.Join(q.By, ","))
	}
	err = c.do(ctx, request{method: http.MethodGet, path: "/usage", query: query}, &report)
	return report, err
}
