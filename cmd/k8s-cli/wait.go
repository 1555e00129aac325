package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const waitHelp = `Wait until tasks end, and print the result of each.

` + ref.Help + `

Exit codes (with several tasks, the highest code; with --group, that of the
group, which has failed if a task of it failed):
  0 succeeded, 100 failed, 101 not finished, 102 not found, 103 stopped.`

func newWaitCommand(e *env, s *server) *cobra.Command {
	var limit time.Duration
	var inGroup string
	cmd := &cobra.Command{
		Use:   "wait [ID...]",
		Short: "Wait until tasks end",
		Long:  waitHelp,
		Example: `  # Wait at most one hour for two tasks
  k8s-cli jobs wait mqp6bsu4 nw9gsjt7 --timeout 1h

  # Wait for all tasks of a sweep
  k8s-cli jobs wait --group shards`,
		Args:              takesOrGroup(1, anyNumber),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if limit < 0 {
			return exit.Usagef("--timeout must not be negative")
		}
		c, err := s.client()
		if err != nil {
			return err
		}
		ctx, stop := e.interrupts(cmd.Context())
		defer stop()
		if len(ids) == 0 {
			return waitForGroup(ctx, c, p, inGroup, limit)
		}
		return wait(ctx, c, p, ids, limit)
	}
	groupFlag(cmd, s, &inGroup, "wait for the tasks in the group of this `name`")
	cmd.Flags().DurationVar(&limit, "timeout", 0, "wait at most this `duration`, for example 10m (default: no limit)")
	s.shortFlag(cmd)
	return cmd
}

// wait waits for the tasks one after the other, which takes as long as waiting for all of
// them at once. It waits at most for limit; 0 means no limit.
func wait(ctx context.Context, c *client.Client, p *printer, ids []string, limit time.Duration) error {
	waiting, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		waiting, cancel = context.WithTimeout(ctx, limit)
	}
	defer cancel()
	highest := 0
	var all []task.Status
	for _, text := range ids {
		s, err := awaitEnd(waiting, c, text)
		if waiting.Err() != nil && ctx.Err() == nil {
			s, err = ref.Task(ctx, c, cmp.Or(s.ID, text))
		}
		code := phaseCode(s.Phase)
		switch {
		case ctx.Err() != nil:
			return exit.Silent(max(highest, exit.TaskNotFinished))
		case errors.Is(err, problem.NotFound):
			printError(p.Console, err)
			code = exit.NotFound
		case err != nil:
			return err
		case p.format.IsData():
			all = append(all, s)
		default:
			fmt.Fprintln(p.Out, show.Plain(summary(s)))
		}
		highest = max(highest, code)
	}
	if p.format.IsData() {
		if err := presentAll(p, len(ids), all, nil); err != nil {
			return err
		}
	}
	if highest == 0 {
		return nil
	}
	return exit.Silent(highest)
}

// awaitEnd waits until the task that text means is over and returns its status.
func awaitEnd(ctx context.Context, c *client.Client, text string) (task.Status, error) {
	s, err := ref.Task(ctx, c, text)
	if err != nil || s.Phase.Over() {
		return s, err
	}
	over, err := c.Wait(ctx, s.ID)
	if err != nil {
		return s, err
	}
	return over, nil
}
