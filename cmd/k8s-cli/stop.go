package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
)

// A stopping holds the flags of the command stop.
type stopping struct {
	all      bool
	yes      bool
	names    []string
	statuses []string
	query    query.Tasks // --group, --all-users, and the filters
	inGroup  bool        // --group is given, perhaps with an empty name
	filtered bool        // the tasks that match the filters are stopped
}

const stopHelp = `Stop tasks, or all active tasks.

` + ref.ChangingHelp + `
A name means only the active tasks of this name, if there are any. The command
leaves tasks that have ended as they are, and says so.

With --all, --group or a filter, the server stops all active tasks that match at
the moment of the command, and answers with their number. -q then prints
nothing. A name that ends with * is a filter for the beginning of the name.`

func newStopCommand(e *env, s *server) *cobra.Command {
	var o stopping
	cmd := &cobra.Command{
		Use:     "stop [ID...]",
		Aliases: []string{"cancel", "kill"},
		Short:   "Stop tasks, or all active tasks",
		Long:    stopHelp,
		Example: `  # Stop two tasks
  k8s-cli jobs stop mqp6bsu4 nw9gsjt7

  # Stop all your active tasks
  k8s-cli jobs stop --all

  # Stop the active tasks of a sweep
  k8s-cli jobs stop --group shards

  # Stop the pending tasks whose names begin with train-
  k8s-cli jobs stop --status pending --name 'train-*'`,
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	p.quietFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		o.inGroup = cmd.Flags().Changed("group")
		if err := o.readFilters(cmd.Flags()); err != nil {
			return err
		}
		if !o.filtered {
			ids = append(ids, o.names...)
		}
		if err := o.check(ids); err != nil {
			return err
		}
		c, err := s.client()
		if err != nil {
			return err
		}
		if o.inGroup || o.all || o.filtered {
			return stopTasks(cmd.Context(), c, p, o)
		}
		return stop(cmd.Context(), c, p, ids)
	}
	groupFlag(cmd, s, &o.query.Group, "stop the active tasks in the group of this `name`")
	o.flags(cmd.Flags())
	_ = cmd.RegisterFlagCompletionFunc("status", cobra.FixedCompletions(phaseNames(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (s *stopping) flags(flags *pflag.FlagSet) {
	q := &s.query
	flags.BoolVarP(&s.all, "all", "a", false, "stop all your active tasks")
	flags.BoolVarP(&q.AllUsers, "all-users", "u", false, "with --all or a filter, stop the tasks of all users")
	flags.StringArrayVarP(&s.names, "name", "n", nil, "stop the task with this `name`; repeatable")
	flags.BoolVarP(&s.yes, "yes", "y", false, "skip the prompt before stopping the tasks of all users")
	flags.StringSliceVarP(&s.statuses, "status", "s", nil, "stop only tasks with this `status`: pending or running")
	flags.StringSliceVar(&q.Labels, "label", nil, "stop only tasks with this label, `KEY=VALUE`, or KEY for any value")
	flags.StringArrayVar(&q.Annotations, "annotation", nil, "stop only tasks with this annotation, `KEY=VALUE`, or KEY for any value; repeatable")
	flags.StringSliceVar(&q.GPUs, "gpus", nil, "stop only tasks whose nodes request these GPUs: `COUNT`, NAME or NAME:COUNT")
	flags.StringVar(&q.Since, "since", "", "stop only tasks submitted since an `age` such as 3h or 2d, or a time")
	flags.StringVar(&q.Before, "before", "", "stop only tasks submitted before an `age` such as 3h or 2d, or a time")
}

// readFilters completes the query with the filters. A filter with an empty value is an error, because
// the command would stop more tasks without the filter.
func (s *stopping) readFilters(flags *pflag.FlagSet) (err error) {
	q := &s.query
	for _, f := range []struct {
		name   string
		values []string
	}{{"status", s.statuses}, {"label", q.Labels}, {"annotation", q.Annotations}, {"gpus", q.GPUs}, {"since", []string{q.Since}}, {"before", []string{q.Before}}} {
		if !flags.Changed(f.name) {
			continue
		}
		if s.filtered = true; len(f.values) == 0 || slices.Contains(f.values, "") {
			return exit.Usagef("--%s: the value is empty", f.name)
		}
	}
	if q.Phases, err = phasesOf(s.statuses); err != nil {
		return err
	}
	isPattern := slices.ContainsFunc(s.names, func(name string) bool { return strings.Contains(name, "*") })
	if s.filtered = s.filtered || isPattern || len(s.names) > 0 && s.inGroup; s.filtered && len(s.names) > 0 {
		return s.readName()
	}
	return nil
}

// readName sets the name, or the beginning of the name, of the tasks to stop.
func (s *stopping) readName() error {
	name := s.names[0]
	prefix, isPattern := strings.CutSuffix(name, "*")
	switch {
	case len(s.names) > 1:
		return exit.Usagef("--name: give one name together with a filter or a name that ends with *")
	case prefix == "":
		return exit.Usagef("--name %q: the name is empty; use --all to stop tasks with any name", name)
	case strings.Contains(prefix, "*"):
		return exit.Usagef("--name %q: only one * at the end of the name is supported", name)
	case isPattern:
		s.query.NamePrefix = prefix
	default:
		s.query.Name = name
	}
	return nil
}

func (s *stopping) check(ids []string) error {
	switch {
	case s.inGroup && (s.all || s.query.AllUsers || len(ids) > 0):
		return exit.Usagef("--group cannot be combined with --all, --all-users or the id of a task")
	case s.filtered && len(ids) > 0:
		return exit.Usagef("a filter cannot be combined with the id of a task")
	case s.inGroup || s.filtered:
		return nil
	case s.query.AllUsers && !s.all:
		return exit.Usagef("--all-users requires --all flag")
	case !s.all && len(ids) == 0:
		return exit.Usagef("Either provide a task ID or use --all flag")
	case s.all && len(ids) > 0:
		return exit.Usagef("Cannot specify task ID with --all flag")
	}
	return nil
}

// A stopped is the result of a stop, with what is not part of the response of the server.
type stopped struct {
	task.StopResponse

	name string
	over bool // the task had ended before
}

func stop(ctx context.Context, c *client.Client, p *printer, ids []string) error {
	all, wrong := each(ids, func(text string) (stopped, error) { return stopOne(ctx, c, text) })
	err := presentAll(p, len(ids), all, func(i int) {
		s := all[i]
		if s.over {
			p.Say("%s", s.Message)
			return
		}
		p.Done("Task stopped successfully",
			show.Field{Name: "Task ID", Value: s.ID},
			show.Field{Name: "Name", Value: s.name},
			show.Field{Name: "Status", Value: s.Status})
	})
	return cmp.Or(err, wrong)
}

// stopOne stops the task that text means. The server accepts the stop of a task that has ended, and
// answers as for any other: only the status of the task says what happened.
func stopOne(ctx context.Context, c *client.Client, text string) (stopped, error) {
	found, err := ref.TaskToStop(ctx, c, text)
	if err != nil || found.Phase.Over() {
		return alreadyOver(found), err
	}
	response, err := c.Stop(ctx, found.ID)
	if err != nil {
		return stopped{}, err
	}
	if now, err := c.Task(ctx, found.ID); err == nil && now.Phase.Over() && now.Phase != task.Stopped { // it ended meanwhile
		return alreadyOver(now), nil
	}
	return stopped{StopResponse: response, name: found.Name}, nil
}

// alreadyOver returns the result for a task that had ended before the stop.
func alreadyOver(s task.Status) stopped {
	how := "has already " + string(s.Phase)
	if s.Phase == task.Stopped {
		how = "was already stopped"
	}
	return stopped{over: true, name: s.Name, StopResponse: task.StopResponse{
		ID: s.ID, Status: string(s.Phase), Message: fmt.Sprintf("Task %s (%s) %s; nothing to stop", s.ID, s.Name, how),
	}}
}

// stopTasks stops the active tasks that the query selects. A group must exist: a mistyped name would
// otherwise stop nothing without an error.
func stopTasks(ctx context.Context, c *client.Client, p *printer, o stopping) error {
	yes, err := p.confirmed(o.yes || !o.query.AllUsers, "Are you sure you want to stop the tasks of all users?", "--yes")
	if !yes {
		return err
	}
	if o.inGroup {
		if _, err := groupOf(ctx, c, o.query.Group); err != nil {
			return err
		}
	}
	stopped, err := c.StopTasks(ctx, o.query)
	if err != nil {
		return err
	}
	return p.present(stopped, func() {
		p.Done("Tasks stopped successfully",
			show.Field{Name: "Count", Value: strconv.Itoa(stopped.Count)},
			show.Field{Name: "Status", Value: stopped.Status})
	})
}
