package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const logsHelp = `Print the logs of tasks, and follow them until the tasks end.

` + refHelp + `

The log goes to stdout unchanged; messages go to stderr. The command prints the
logs of several tasks one after the other.

Exit codes, of several tasks the highest:
  0 succeeded, 100 failed, 101 not finished, 102 not found, 103 stopped.`

func newLogsCommand(e *env, s *server) *cobra.Command {
	var o client.LogOptions
	var tail, node int
	cmd := &cobra.Command{
		Use:   "logs ID...",
		Short: "Print the logs of tasks",
		Long:  logsHelp,
		Example: `  # Follow the log of a task
  k8s-cli jobs logs mqp6bsu4

  # Print the last 100 lines of node 1, and exit
  k8s-cli jobs logs mqp6bsu4 --node 1 --tail 100 --no-follow`,
		Args:              takes(1, anyNumber),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if cmd.Flags().Changed("tail") {
				o.Tail = &tail
			}
			if cmd.Flags().Changed("node") {
				o.Node = &node
			}
			if tail < 0 || node < 0 || o.Since < 0 {
				return exit.Usagef("--tail, --node and --since must not be negative")
			}
			if o.Attempt < 0 {
				return exit.Usagef("--attempt must not be negative")
			}
			c, err := s.client()
			if err != nil {
				return err
			}
			return follow(cmd.Context(), e, c, ids, o)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.NoFollow, "no-follow", false, "print the current log and exit")
	flags.IntVar(&tail, "tail", 0, "print only the last `N` lines of each node, and new lines")
	flags.DurationVar(&o.Since, "since", time.Duration(0), "print only lines newer than this `duration`, for example 10m")
	flags.IntVar(&node, "node", 0, "print only the node with this `rank`; ranks start at 0")
	flags.IntVar(&o.Attempt, "attempt", 0, "print only the attempt with this `number`; attempts start at 1")
	flags.BoolVar(&o.Timestamps, "timestamps", false, "print a timestamp before each line")
	s.shortFlag(cmd)
	return cmd
}

// follow prints the logs of tasks, one after the other. It returns an error with the
// highest of the tasks' exit codes.
func follow(ctx context.Context, e *env, c *client.Client, ids []string, o client.LogOptions) error {
	ctx, stop := e.interrupts(ctx)
	defer stop()
	highest := 0
	for _, text := range ids {
		id, code, err := followOne(ctx, &e.Console, c, text, o)
		switch {
		case ctx.Err() != nil:
			leave(&e.Console, id)
			return exit.Silent(max(highest, exit.TaskNotFinished))
		case errors.Is(err, task.ErrNotFound):
			printError(&e.Console, err)
			code = exit.NotFound
		case err != nil:
			return err
		}
		highest = max(highest, code)
	}
	if highest == 0 {
		return nil
	}
	return exit.Silent(highest)
}

// followOne prints the log of the task that text means. It returns the id of the task and
// the exit code for its phase. The server ends the log when the task is over.
func followOne(ctx context.Context, screen *console.Console, c *client.Client, text string, o client.LogOptions) (id string, code int, err error) {
	s, err := findTask(ctx, c, text)
	if err != nil {
		return text, 0, err
	}
	id = s.ID
	if !o.NoFollow {
		screen.Say("Tailing logs for task %s...", id)
		screen.Say("Press Ctrl+C to stop tailing logs")
	}
	err = copyLog(ctx, screen, c, id, o)
	switch {
	case ctx.Err() != nil:
		return id, 0, ctx.Err()
	case errors.Is(err, client.ErrBrokenLog):
		screen.Warn("Could not tail logs: %v", err)
	case err != nil:
		return id, 0, err
	}
	if s, err = c.Task(ctx, id); err != nil {
		return id, 0, err
	}
	screen.Say("%s", summary(s))
	return id, phaseCode(s.Phase), nil
}

// leave prints how to follow the log of a task again.
func leave(screen *console.Console, id string) {
	fmt.Fprintln(screen.ErrOut, "\nStopped tailing logs")
	screen.Say("Task %[1]s is still running: run 'k8s-cli jobs logs %[1]s' to follow it again, or 'k8s-cli jobs stop %[1]s' to stop it", id)
}

func phaseCode(p task.Phase) int {
	switch p {
	case task.Completed:
		return 0
	case task.Failed:
		return exit.TaskFailed
	case task.Stopped:
		return exit.TaskStopped
	}
	return exit.TaskNotFinished
}

// summary describes the phase of a task in one line.
func summary(s task.Status) string {
	text := fmt.Sprintf("Task %s %s", s.ID, s.Phase)
	switch {
	case s.Phase == task.Stopped:
		text = fmt.Sprintf("Task %s was stopped", s.ID)
	case !s.Phase.Over():
		text = fmt.Sprintf("Task %s is not finished, it is %s", s.ID, s.Phase)
	}
	if reason := show.ReasonNow(s.Metadata.Reason, s.Metadata.Message); reason != "" && s.Phase != task.Completed {
		text += ": " + reason
	}
	return text
}
