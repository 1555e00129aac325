package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
)

const groupsHelp = `List groups of tasks, newest first, or show the groups with these names.

A group is all tasks that you submitted with the same --group. Each sweep by
--grid or --num-jobs, each pipeline and each job group is a group. The list
shows the number of tasks by status, the estimated time until the last task
ends (once enough tasks have ended), and the task that failed first.`

func newGroupsCommand(e *env, s *server) *cobra.Command {
	var allUsers, watch bool
	cmd := &cobra.Command{
		Use:     "groups [NAME...]",
		Aliases: []string{"group", "sweeps"},
		Short:   "List groups of tasks, newest first",
		Long:    groupsHelp,
		Example: `  # List your groups, and keep the list up to date
  k8s-cli jobs groups --watch

  # Print how many tasks of a group failed
  k8s-cli jobs groups shards -o jsonpath={.by_status.failed}`,
		Args:              takes(0, anyNumber),
		ValidArgsFunction: complete.Groups(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	p.quietFlag(cmd)
	p.headerFlag(cmd)
	cmd.Flags().BoolVarP(&allUsers, "all-users", "u", false, "list the groups of all users")
	cmd.Flags().BoolVarP(&watch, "watch", "w", false, "on a terminal, keep the list up to date")
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, names []string) error {
		switch {
		case watch && len(names) > 0:
			return exit.Usagef("--watch cannot be combined with the name of a group; 'k8s-cli jobs events --group NAME --follow' prints its events")
		case watch && !p.isLive():
			return exit.Usagef("--watch needs a terminal here; 'k8s-cli jobs events --group NAME --follow' prints the events of a group")
		case watch:
			return runLive(ctx, e, c, p, liveGroups(c, allUsers))
		case len(names) == 0:
			return listGroups(ctx, c, p, allUsers)
		case allUsers:
			return exit.Usagef("--all-users cannot be combined with the name of a group")
		}
		return showGroups(ctx, c, p, names)
	})
	return cmd
}

// groupFlag adds the flag --group to cmd.
func groupFlag(cmd *cobra.Command, s *server, name *string, usage string) {
	cmd.Flags().StringVar(name, "group", "", usage)
	_ = cmd.RegisterFlagCompletionFunc("group", complete.Groups(s.completion))
}

// takesOrGroup is takes for a command that has either arguments or the flag --group.
func takesOrGroup(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case !cmd.Flags().Changed("group"):
			return takes(least, most)(cmd, args)
		case len(args) > 0:
			return exit.Usagef("--group cannot be combined with the id of a task")
		}
		return nil
	}
}

func listGroups(ctx context.Context, c *client.Client, p *printer, allUsers bool) error {
	q := client.GroupQuery{AllUsers: allUsers}
	if !p.format.IsData() {
		q.Limit = tableLimit
	}
	page, err := c.Groups(ctx, q)
	if err != nil {
		return err
	}
	return p.present(group.List{Groups: append([]group.Group{}, page.Items...)}, func() {
		if len(page.Items) == 0 {
			if !p.Style.NoHeaders {
				fmt.Fprintln(p.Out, "No groups found")
			}
			return
		}
		show.Groups(p.Out, p.Style, page.Items, allUsers)
		if page.Next != "" {
			p.Say("Showing the newest %d groups; pass -o json to get all of them", len(page.Items))
		}
	})
}

func showGroups(ctx context.Context, c *client.Client, p *printer, names []string) error {
	groups, wrong := each(names, func(name string) (group.Group, error) { return groupOf(ctx, c, name) })
	if p.format.IsData() {
		return errors.Join(presentAll(p, len(names), groups, nil), wrong)
	}
	if len(groups) > 0 {
		show.Groups(p.Out, p.Style, groups, false)
	}
	return wrong
}

// assignGroup assigns the jobs to the group of --group, or to a group with a generated name if the
// jobs are a sweep. Each sweep gets a group of its own.
func (s *submitter) assignGroup(jobs []job, sweep bool, file string) error {
	name := s.options.group
	if name == "" && !sweep && (s.options.maxParallel > 0 || s.options.failFast) {
		return exit.Usagef("--max-parallel and --fail-fast need a group; pass --group, --grid or --num-jobs")
	}
	if name == "" && sweep {
		base := s.nameOfGroup(jobs)
		if base == "" && file != "-" {
			base = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
		}
		const suffix = 5
		name = task.NewID()[:suffix]
		if base = group.Name(base, 40); base != "" {
			name = base + "-" + name
		}
	}
	for i := range jobs {
		jobs[i].group = group.Membership{Group: name, MaxParallel: s.options.maxParallel, FailFast: s.options.failFast}
	}
	return nil
}

// sayGroup prints the group of several jobs, and the commands for the group.
func sayGroup(screen *console.Console, jobs []job) {
	name := jobs[0].group.Group
	if name == "" || slices.ContainsFunc(jobs, func(j job) bool { return j.group.Group != name }) {
		return
	}
	screen.Say("Group %[1]s: run 'k8s-cli jobs groups %[1]s' to see its progress, or 'k8s-cli jobs stop --group %[1]s' to stop it", name)
}

// groupOf returns the state of a group. The error about an unknown group has the exit code of an
// unknown task.
func groupOf(ctx context.Context, c *client.Client, name string) (group.Group, error) {
	g, err := c.Group(ctx, name)
	return g, missing(err)
}

// missing returns an error about an unknown group with the exit code of an unknown task.
func missing(err error) error {
	if errors.Is(err, problem.NotFound) {
		return &ref.MissingError{Err: err}
	}
	return err
}

// tasksOfGroup returns the ids of the tasks of a group, oldest first.
func tasksOfGroup(ctx context.Context, c *client.Client, name string) (ids []string, err error) {
	if _, err := groupOf(ctx, c, name); err != nil {
		return nil, err
	}
	for page, err := range c.RowPages(ctx, query.Tasks{Group: name, Sort: query.ByCreated, Limit: 1000}) {
		if err != nil {
			return nil, err
		}
		for _, r := range page.Items {
			ids = append(ids, r.ID)
		}
	}
	return ids, nil
}

// waitForGroup waits until all tasks of a group are over, at most for limit; 0 means no limit.
func waitForGroup(ctx context.Context, c *client.Client, p *printer, name string, limit time.Duration) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	g, err := c.WatchGroup(waiting, name, func(left int, _ task.Event) error {
		if p.ErrStyle.Live {
			p.Line(fmt.Sprintf("%s tasks of group %s have not ended", show.Count(left), name))
		}
		return nil
	})
	if p.ErrStyle.Live {
		p.Line("")
	}
	switch {
	case ctx.Err() != nil:
		return exit.Silent(exit.TaskNotFinished)
	case waiting.Err() != nil:
		g, err = groupOf(ctx, c, name)
	}
	if err != nil {
		return missing(err)
	}
	if err := p.present(g, func() { fmt.Fprintln(p.Out, show.Group(g)) }); err != nil {
		return err
	}
	return codeError(phaseCode(g.Phase))
}

func printGroupEvents(ctx context.Context, c *client.Client, p *printer, name string) error {
	if _, err := groupOf(ctx, c, name); err != nil {
		return err
	}
	events, err := c.Events(ctx, client.EventSource{Group: name})
	if err != nil {
		return err
	}
	return p.present(task.EventList{Events: append([]task.Event{}, events...)}, func() { show.GroupEvents(p.Out, p.Style, events) })
}

func followGroupEvents(ctx context.Context, c *client.Client, p *printer, name string) error {
	table := show.NewLive(p.Out, p.Style)
	_, err := c.WatchGroup(ctx, name, func(_ int, e task.Event) error {
		if p.format.IsData() {
			return errors.Join(p.record(e), p.Out.Err())
		}
		table.GroupEvents(e)
		return p.Out.Err()
	})
	return missing(err)
}
