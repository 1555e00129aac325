package main

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// tableLimit is the default limit of tasks in a table.
const tableLimit = 50

// A listing holds the flags that choose the tasks of a list, and its columns.
type listing struct {
	details  bool
	allUsers bool
	all      bool
	watch    bool
	limit    int // 0 means the default of the format
	phases   []string
}

func newListCommand(e *env, s *server) *cobra.Command {
	var l listing
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List tasks, newest first",
		Long: `List tasks, newest first. A table shows the newest 50 tasks, unless you pass
--all or --limit. JSON and YAML show all tasks.`,
		Example: `  # List the newest tasks, and keep the list up to date
  k8s-cli jobs list --watch

  # Print the ids of all failed tasks
  k8s-cli jobs list --status failed -o json | jq -r '.[].task_id'`,
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := l.check(cmd.Flags().Changed("limit")); err != nil {
			return err
		}
		c, err := s.client()
		if err != nil {
			return err
		}
		if l.watch {
			return watchTasks(cmd.Context(), c, p, l)
		}
		return listTasks(cmd.Context(), c, p, l)
	}
	flags := cmd.Flags()
	flags.BoolVarP(&l.details, "details", "d", false, "also show the names of the Kubernetes objects")
	flags.BoolVarP(&l.allUsers, "all-users", "u", false, "list the tasks of all users")
	flags.BoolVar(&l.all, "all", false, "show all tasks")
	flags.IntVar(&l.limit, "limit", 0, "show only the newest `N`")
	flags.BoolVarP(&l.watch, "watch", "w", false, watchHelp)
	flags.StringSliceVar(&l.phases, "status", nil, "show only tasks with this `status`; separate several with commas")
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(phaseNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func phaseNames() []string {
	return []string{string(task.Pending), string(task.Running), string(task.Completed), string(task.Failed), string(task.Stopped)}
}

func (l listing) check(limited bool) error {
	switch {
	case limited && l.all:
		return exit.Usagef("--all and --limit cannot be combined")
	case limited && l.limit < 1:
		return exit.Usagef("--limit %d: must be at least 1", l.limit)
	}
	for _, name := range l.phases {
		if !slices.Contains(phaseNames(), name) {
			return exit.Usagef("--status %q: must be one of %v", name, phaseNames())
		}
	}
	return nil
}

func listTasks(ctx context.Context, c *client.Client, p *printer, l listing) error {
	tasks, err := c.Tasks(ctx, l.allUsers)
	if err != nil {
		return err
	}
	tasks = l.choose(tasks)
	shown := tasks[:min(len(tasks), l.most(p.format))]
	return p.present(task.List{Tasks: shown}, func() { printTasks(p, l, shown, len(tasks)) })
}

// choose returns the tasks in the chosen phases, newest first.
func (l listing) choose(tasks []task.Status) []task.Status {
	chosen := []task.Status{}
	for _, t := range tasks {
		if len(l.phases) == 0 || slices.Contains(l.phases, string(t.Phase)) {
			chosen = append(chosen, t)
		}
	}
	slices.SortStableFunc(chosen, func(a, b task.Status) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return chosen
}

// most returns the maximum number of tasks to show.
func (l listing) most(f show.Format) int {
	switch {
	case l.limit > 0:
		return l.limit
	case l.all, f.IsData():
		return math.MaxInt
	}
	return tableLimit
}

func printTasks(p *printer, l listing, shown []task.Status, total int) {
	if total == 0 {
		fmt.Fprintln(p.Out, "No tasks found")
		return
	}
	show.Tasks(p.Out, p.Style, shown, p.columns(l.details, l.allUsers))
	fmt.Fprintf(p.Out, "\nTotal tasks: %d\n", total)
	if more := total - len(shown); more > 0 {
		fmt.Fprintf(p.ErrOut, "%d more; pass --all to show them\n", more)
	}
}
