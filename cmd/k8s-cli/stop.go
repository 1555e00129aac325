package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// A stopping says which tasks to stop besides those named.
type stopping struct {
	all      bool
	allUsers bool
	yes      bool
}

func newStopCommand(e *env) *cobra.Command {
	var s stopping
	cmd := &cobra.Command{
		Use:   "stop [ID...]",
		Short: "Stop tasks, or all active tasks",
		Example: `  # Stop two tasks
  k8s-cli jobs stop mqp6bsu4 nw9gsjt7

  # Stop all your active tasks
  k8s-cli jobs stop --all`,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if err := s.check(ids); err != nil {
				return err
			}
			c, err := e.client()
			if err != nil {
				return err
			}
			if s.all {
				return e.stopAll(cmd.Context(), c, s)
			}
			return e.stop(cmd.Context(), c, ids)
		},
	}
	flags := cmd.Flags()
	flags.BoolVarP(&s.all, "all", "a", false, "stop all your active tasks")
	flags.BoolVarP(&s.allUsers, "all-users", "u", false, "with --all, stop the tasks of all users")
	flags.BoolVarP(&s.yes, "yes", "y", false, "skip the prompt before stopping the tasks of all users")
	outputFlag(cmd, e)
	return cmd
}

func (s stopping) check(ids []string) error {
	switch {
	case s.allUsers && !s.all:
		return exit.Usagef("--all-users requires --all flag")
	case !s.all && len(ids) == 0:
		return exit.Usagef("Either provide a task ID or use --all flag")
	case s.all && len(ids) > 0:
		return exit.Usagef("Cannot specify task ID with --all flag")
	}
	return nil
}

func (e *env) stop(ctx context.Context, c *client.Client, ids []string) error {
	stopped, wrong := each(ids, func(id string) (task.StoppedOne, error) { return c.Stop(ctx, id) })
	err := presentAll(e, len(ids), stopped, func(i int) {
		show.Done(e.out, e.style, "Task stopped successfully",
			show.Field{Name: "Task ID", Value: stopped[i].ID},
			show.Field{Name: "Status", Value: stopped[i].Status})
	})
	return cmp.Or(err, wrong)
}

func (e *env) stopAll(ctx context.Context, c *client.Client, s stopping) error {
	if s.allUsers && !s.yes {
		yes, err := e.confirm("Are you sure you want to stop the tasks of all users?", "--yes")
		if err != nil {
			return err
		}
		if !yes {
			fmt.Fprintln(e.out, "Cancelled")
			return nil
		}
	}
	stopped, err := c.StopAll(ctx, s.allUsers)
	if err != nil {
		return err
	}
	return e.present(stopped, func() {
		show.Done(e.out, e.style, "Tasks stopped successfully",
			show.Field{Name: "Count", Value: strconv.Itoa(stopped.Count)},
			show.Field{Name: "Status", Value: stopped.Status})
	})
}
