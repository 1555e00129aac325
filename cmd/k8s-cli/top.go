package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
)

const topHelp = `Show the CPUs and the memory that your running tasks use, or only the tasks with
these ids, as used/requested of all nodes together. Max CPUs and Max memory are
the largest amounts that one node used.

If the cluster has the metrics API (metrics-server), the server takes a sample
every 30 seconds. A peak between two samples may be higher than the maximum.
When a task has completed or failed, jobs status also shows the maximum.

`

// topPause is the time between two requests of --watch, less than the time between two samples.
const topPause = 10 * time.Second

// A topList is the output of jobs top for programs.
type topList struct {
	Tasks []task.TopTask `json:"tasks"`
}

func newTopCommand(e *env, s *server) *cobra.Command {
	var watch bool
	cmd := &cobra.Command{
		Use:   "top [ID...]",
		Short: "Show the CPUs and the memory that running tasks use",
		Long:  topHelp + ref.Help,
		Example: `  # Show your running tasks, and keep the table up to date
  k8s-cli jobs top --watch

  # Print what each node of a task uses
  k8s-cli jobs top mqp6bsu4 -o jsonpath='{.tasks[0].nodes[*].used}'`,
		Args:              takes(0, anyNumber),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	p.headerFlag(cmd)
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "on a terminal, keep the table up to date")
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error {
		switch {
		case watch && !p.isLive():
			return exit.Usagef("--watch needs a terminal here; repeat the command instead")
		case watch:
			return runLive(ctx, e, c, p, liveTop(c, ids))
		}
		limit := tableLimit
		if p.format.IsData() {
			limit = 0
		}
		tasks, total, wrong := topOf(ctx, c, ids, limit)
		if wrong != nil && len(tasks) == 0 {
			return wrong
		}
		err := p.present(topList{append([]task.TopTask{}, tasks...)}, func() { printTop(p, tasks, total) })
		return cmp.Or(err, wrong)
	})
	return cmd
}

// topOf returns what tasks use: those with these ids, or else the newest running tasks. total is their
// number without the limit; a limit of 0 means all.
func topOf(ctx context.Context, c *client.Client, ids []string, limit int) (tasks []task.TopTask, total int, err error) {
	get := func(id string) (task.TopTask, error) { return c.Top(ctx, id) }
	if len(ids) > 0 {
		tasks, err = each(ids, ref.OfTask(ctx, c, get))
		return tasks, len(tasks), err
	}
	page, err := c.RowPage(ctx, query.Tasks{Phases: []task.Phase{task.Running}, Limit: limit})
	if err != nil {
		return nil, 0, err
	}
	for _, r := range page.Items {
		t, err := get(r.ID)
		switch {
		case err == nil:
			tasks = append(tasks, t)
		case !errors.Is(err, problem.NotFound): // the task has just left the history
			return tasks, page.Total, err
		}
	}
	return tasks, page.Total, nil
}

func printTop(p *printer, tasks []task.TopTask, total int) {
	if text := topProblem(tasks); text != "" {
		p.Warn("%s", text)
	}
	if len(tasks) == 0 {
		if !p.Style.NoHeaders {
			fmt.Fprintln(p.Out, "No running tasks")
		}
		return
	}
	show.Top(p.Out, p.Style, tasks)
	if total > len(tasks) {
		p.Say("Showing the newest %s of %s running tasks; pass -o json to get all of them", show.Count(len(tasks)), show.Count(total))
	}
}

// topProblem returns why there are no new samples, which is the same for all tasks that run.
func topProblem(tasks []task.TopTask) string {
	for _, t := range tasks {
		if t.Problem != "" {
			return t.Problem
		}
	}
	return ""
}

// liveTop returns the live table of what tasks use.
func liveTop(c *client.Client, ids []string) liveList {
	var tasks []task.TopTask
	return liveList{
		every: topPause,
		load: func(ctx context.Context, rows int) (err error) {
			tasks, _, err = topOf(ctx, c, ids, rows)
			tasks = tasks[:min(rows, len(tasks))]
			return err
		},
		print: func(b *strings.Builder, s show.Style) {
			show.Top(b, s, tasks)
			if text := topProblem(tasks); text != "" {
				b.WriteString("\n" + s.Warning(text) + "\n")
			}
		},
	}
}
