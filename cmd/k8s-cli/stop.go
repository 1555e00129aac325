package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// A stopping holds the flags of the command stop.
type stopping struct {
	all      bool
	allUsers bool
	yes      bool
	names    []string
	group    string
}

const stopHelp = `Stop tasks, or all active tasks.

` + ref.ChangingHelp + `
A name means only the active tasks of this name, if there are any. The command
leaves tasks that have ended as they are, and says so. With --all or --group,
-q prints nothing, since the server answers with the number of tasks.`

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
  k8s-cli jobs stop --group shards`,
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	p.quietFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		ids = append(ids, o.names...)
		if err := o.check(ids, cmd.Flags().Changed("group")); err != nil {
			return err
		}
		c, err := s.client()
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("group") {
			return stopGroup(cmd.Context(), c, p, o.group)
		}
		if o.all {
			return stopAll(cmd.Context(), c, p, o)
		}
		return stop(cmd.Context(), c, p, ids)
	}
	groupFlag(cmd, s, &o.group, "stop the active tasks in the group of this `name`")
	flags := cmd.Flags()
	flags.BoolVarP(&o.all, "all", "a", false, "stop all your active tasks")
	flags.BoolVarP(&o.allUsers, "all-users", "u", false, "with --all, stop the tasks of all users")
	flags.StringArrayVarP(&o.names, "name", "n", nil, "stop the task with this `name`; repeatable")
	flags.BoolVarP(&o.yes, "yes", "y", false, "skip the prompt before stopping the tasks of all users")
	return cmd
}

func (s stopping) check(ids []string, inGroup bool) error {
	switch {
	case inGroup && (s.all || s.allUsers || len(ids) > 0):
		return exit.Usagef("--group cannot be combined with --all, --all-users or the id of a task")
	case inGroup:
		return nil
	case s.allUsers && !s.all:
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

func stopAll(ctx context.Context, c *client.Client, p *printer, o stopping) error {
	yes, err := p.confirmed(o.yes || !o.allUsers, "Are you sure you want to stop the tasks of all users?", "--yes")
	if !yes {
		return err
	}
	stopped, err := c.StopAll(ctx, o.allUsers)
	if err != nil {
		return err
	}
	return presentStopped(p, stopped)
}

// stopGroup stops the active tasks of a group. The group must exist: a mistyped name would
// otherwise stop nothing without an error.
func stopGroup(ctx context.Context, c *client.Client, p *printer, name string) error {
	if _, err := groupOf(ctx, c, name); err != nil {
		return err
	}
	stopped, err := c.StopGroup(ctx, name)
	if err != nil {
		return err
	}
	return presentStopped(p, stopped)
}

func presentStopped(p *printer, stopped task.StopAllResponse) error {
	return p.present(stopped, func() {
		p.Done("Tasks stopped successfully",
			show.Field{Name: "Count", Value: strconv.Itoa(stopped.Count)},
			show.Field{Name: "Status", Value: stopped.Status})
	})
}
