package main

import (
	"context"
	"fmt"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/query"
)

// isLive reports whether the output is a terminal on which a list can be redrawn.
func (p *printer) isLive() bool { return !p.format.IsData() && p.Style.Live && p.Size != nil }

// runLive shows a live list until the user interrupts the command.
func runLive(ctx context.Context, e *env, c *client.Client, p *printer, l liveList) error {
	ctx, stop := e.interrupts(ctx)
	defer stop()
	return l.run(ctx, c, p.Console)
}

// liveTasks returns the live list of the tasks that l selects.
func liveTasks(c *client.Client, p *printer, l listing) liveList {
	columns := p.columns(l.details, l.query.AllUsers)
	var page client.Page[show.Row]
	return liveList{
		kind: task.KindTask, allUsers: l.query.AllUsers,
		load: func(ctx context.Context, rows int) (err error) {
			q := l.limited(p.format)
			if q.Limit == 0 || q.Limit > rows {
				q.Limit = rows
			}
			page, err = runningFirst(ctx, c, q, columns)
			return err
		},
		print: func(b *strings.Builder, s show.Style) {
			show.Rows(b, s, page.Items, columns)
			writeTotal(b, task.KindTask, len(page.Items), page.Total)
		},
	}
}

// runningFirst is rowsOf with the running tasks before the others, unless the query has a status or an
// order. Otherwise, the waiting tasks of a large sweep would hide them.
func runningFirst(ctx context.Context, c *client.Client, q query.Tasks, columns show.Columns) (client.Page[show.Row], error) {
	page, err := rowsOf(ctx, c, q, columns)
	if err != nil || len(q.Phases) > 0 || q.Sort != "" {
		return page, err
	}
	isRunning := func(r show.Row) bool { return r.Phase == task.Running }
	var first []show.Row
	if page.Total > len(page.Items) {
		q.Phases = []task.Phase{task.Running}
		running, err := rowsOf(ctx, c, q, columns)
		if err != nil {
			return page, err
		}
		first = running.Items
	}
	known := map[string]bool{}
	for _, r := range first {
		known[r.ID] = true
	}
	var rest []show.Row
	for _, r := range page.Items {
		switch {
		case known[r.ID]:
		case isRunning(r):
			first = append(first, r)
		default:
			rest = append(rest, r)
		}
	}
	page.Items = append(first, rest...)[:len(page.Items)]
	return page, nil
}

// liveVolumes returns the live list of the volumes.
func liveVolumes(c *client.Client, columns show.Columns, allUsers bool) liveList {
	var volumes []task.VolumeStatus
	shown := 0
	return liveList{
		kind: task.KindVolume, allUsers: allUsers,
		load: func(ctx context.Context, rows int) (err error) {
			volumes, err = sortedVolumes(ctx, c, allUsers)
			shown = min(rows, len(volumes))
			return err
		},
		print: func(b *strings.Builder, s show.Style) {
			show.Volumes(b, s, volumes[:shown], columns)
			writeTotal(b, task.KindVolume, shown, len(volumes))
		},
	}
}

// liveGroups returns the live list of the newest groups.
func liveGroups(c *client.Client, allUsers bool) liveList {
	var groups []group.Group
	return liveList{
		kind: task.KindTask, allUsers: allUsers,
		load: func(ctx context.Context, rows int) error {
			page, err := c.Groups(ctx, client.GroupQuery{AllUsers: allUsers, Limit: rows})
			groups = page.Items
			return err
		},
		print: func(b *strings.Builder, s show.Style) { show.Groups(b, s, groups, allUsers) },
	}
}

func writeTotal(b *strings.Builder, kind task.Kind, shown, total int) {
	if total > shown {
		fmt.Fprintf(b, "\nTotal %ss: %s (%s shown)\n", kind, show.Count(total), show.Count(shown))
		return
	}
	fmt.Fprintf(b, "\nTotal %ss: %s\n", kind, show.Count(shown))
}
