package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
)

// tableLimit is the default limit of tasks in a table.
const tableLimit = 50

// A listing holds the flags that choose the tasks of a list, and its columns.
type listing struct {
	details  bool
	all      bool
	active   bool // --skip-finished
	watch    bool
	statuses []string
	sort     string
	query    query.Tasks
}

const listHelp = `List tasks, newest first. A table shows the newest 50 tasks, unless you pass
--all or --limit. JSON and YAML show all tasks. On a terminal, --watch shows the
running tasks first.

On a terminal, the table has as many columns as fit. With -o wide, or without a
terminal, the table has all columns.`

func newListCommand(e *env, s *server) *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls", "ps", "queue"},
		Short:   "List tasks, newest first",
		Long:    listHelp,
		Example: `  # List the newest tasks, and keep the list up to date
  k8s-cli jobs list --watch

  # Print the ids of all failed tasks
  k8s-cli jobs list --status failed --all -q

  # Print the names of the pending tasks
  k8s-cli jobs list --status pending -o jsonpath='{.tasks[*].name}'`,
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPrinter(&e.Console, cmd)
	p.quietFlag(cmd)
	p.headerFlag(cmd)
	p.verboseFlag(cmd)
	l.flags(cmd.Flags())
	groupFlag(cmd, s, &l.query.Group, "show only the tasks in the group of this `name`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := l.check(cmd.Flags().Changed("limit")); err != nil {
			return err
		}
		c, err := s.client()
		if err != nil {
			return err
		}
		if l.watch && p.isLive() {
			return runLive(cmd.Context(), e, c, p, liveTasks(c, p, l))
		}
		if l.watch {
			return watchTasks(cmd.Context(), c, p, l)
		}
		return listTasks(cmd.Context(), c, p, l)
	}
	for name, values := range map[string][]string{"status": phaseNames(), "sort-by": sortNames()} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
	return cmd
}

func (l *listing) flags(flags *pflag.FlagSet) {
	q := &l.query
	flags.BoolVarP(&l.details, "details", "d", false, "also show the names of the Kubernetes objects")
	flags.BoolVarP(&q.AllUsers, "all-users", "u", false, "list the tasks of all users")
	flags.StringVar(&q.User, "user", "", "list only the tasks of this `user`")
	flags.BoolVarP(&l.all, "all", "a", false, "show all tasks")
	flags.IntVarP(&q.Limit, "limit", "l", 0, "show only the newest `N`")
	flags.BoolVarP(&l.watch, "watch", "w", false, watchHelp)
	flags.StringSliceVarP(&l.statuses, "status", "s", nil, "show only tasks with this `status`; separate several with commas")
	flags.BoolVar(&l.active, "skip-finished", false, "show only tasks that are pending or running")
	flags.StringVarP(&q.Name, "name", "n", "", "show only tasks with this `name`")
	flags.StringSliceVar(&q.Labels, "label", nil, "show only tasks with this label, `KEY=VALUE`, or KEY for any value")
	flags.StringArrayVar(&q.Annotations, "annotation", nil, "show only tasks with this annotation, `KEY=VALUE`, or KEY for any value; repeatable")
	flags.StringSliceVar(&q.Reasons, "reason", nil, "show only tasks with this `reason`, for example Unschedulable")
	flags.StringVar(&q.Since, "since", "", "show only tasks submitted since an `age` such as 3h or 2d, or a time")
	flags.StringVar(&q.Before, "before", "", "show only tasks submitted before an `age` such as 3h or 2d, or a time")
	flags.StringSliceVar(&q.GPUs, "gpus", nil, "show only tasks whose nodes request these GPUs: `COUNT`, NAME or NAME:COUNT")
	flags.StringSliceVar(&q.Machines, "machine", nil, "show only tasks with a node on this `machine`")
	flags.IntSliceVar(&q.ExitCodes, "exit-code", nil, "show only tasks with a node that ended with this exit `code`")
	flags.StringVar(&l.sort, "sort-by", "", "sort by this `field`: "+strings.Join(query.Fields, ", ")+"; -field for descending")
}

func phaseNames() []string {
	names := make([]string, len(query.Phases))
	for i, p := range query.Phases {
		names[i] = string(p)
	}
	return names
}

func sortNames() (names []string) {
	for _, f := range query.Fields {
		names = append(names, f, "-"+f)
	}
	return names
}

// skyStatus maps the names of SkyPilot to phases.
var skyStatus = map[string]task.Phase{
	"succeeded": task.Completed, "cancelled": task.Stopped, "submitted": task.Pending, "starting": task.Pending,
}

// check checks the flags and completes the query.
func (l *listing) check(limited bool) error {
	switch {
	case limited && l.all:
		return exit.Usagef("--all and --limit cannot be combined")
	case limited && l.query.Limit < 1:
		return exit.Usagef("--limit %d: must be at least 1", l.query.Limit)
	case l.active && len(l.statuses) > 0:
		return exit.Usagef("--skip-finished and --status cannot be combined")
	case l.active:
		l.statuses = []string{string(task.Pending), string(task.Running)}
	}
	var err error
	if l.query.Phases, err = phasesOf(l.statuses); err != nil {
		return err
	}
	if l.sort != "" && !slices.Contains(query.Fields, strings.TrimPrefix(l.sort, "-")) {
		return exit.Usagef("--sort-by %q: must be one of %v, with - in front for descending order", l.sort, query.Fields)
	}
	l.query.Sort = query.Sort(l.sort)
	return nil
}

// phasesOf returns the phases that --status names.
func phasesOf(names []string) (phases []task.Phase, err error) {
	for _, name := range names {
		phase := task.Phase(strings.ToLower(name))
		if of, known := skyStatus[string(phase)]; known {
			phase = of
		}
		if !slices.Contains(query.Phases, phase) {
			return nil, exit.Usagef("--status %q: must be one of %v", name, phaseNames())
		}
		phases = append(phases, phase)
	}
	return phases, nil
}

// limited returns the query with the limit of the format.
func (l listing) limited(f show.Format) query.Tasks {
	q := l.query
	if q.Limit == 0 && !l.all && !f.IsData() {
		q.Limit = tableLimit
	}
	return q
}

func listTasks(ctx context.Context, c *client.Client, p *printer, l listing) error {
	q := l.limited(p.format)
	if p.format.IsData() {
		page, err := c.TaskPage(ctx, q)
		if err != nil {
			return err
		}
		return show.Data(p.Out, p.format, task.List{Tasks: append([]task.Status{}, page.Items...)})
	}
	page, err := rowsOf(ctx, c, q, p.columns(l.details, l.query.AllUsers))
	if err != nil {
		return err
	}
	printRows(p, l, page)
	return nil
}

// rowsOf returns a page of rows with what the columns need.
func rowsOf(ctx context.Context, c *client.Client, q query.Tasks, columns show.Columns) (page client.Page[show.Row], err error) {
	short, err := c.RowPage(ctx, q)
	if err != nil {
		return page, err
	}
	full := map[string]show.Row{}
	if columns.Details || columns.Reason {
		long, err := c.TaskPage(ctx, q)
		if err != nil {
			return page, err
		}
		for _, r := range show.RowsOf(long.Items) {
			full[r.ID] = r
		}
	}
	page.Total, page.Items = short.Total, make([]show.Row, len(short.Items))
	for i, r := range short.Items {
		page.Items[i] = merged(r, full[r.ID])
	}
	return page, nil
}

// merged returns the short form of a task with what only the full form has.
func merged(short overview.Row, full show.Row) show.Row {
	full.Row = short
	return full
}

func printRows(p *printer, l listing, page client.Page[show.Row]) {
	shown := len(page.Items)
	if shown == 0 {
		if !p.Style.NoHeaders {
			fmt.Fprintln(p.Out, "No tasks found")
		}
		return
	}
	show.Rows(p.Out, p.Style, page.Items, p.columns(l.details, l.query.AllUsers))
	total := max(page.Total, shown)
	if !p.Style.NoHeaders {
		fmt.Fprintf(p.Out, "\nTotal tasks: %d\n", total)
	}
	if total > shown {
		p.Say("Showing %s of %s tasks; pass --all to show all of them", show.Count(shown), show.Count(total))
	}
}
