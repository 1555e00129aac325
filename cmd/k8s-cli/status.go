package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

func newStatusCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "status ID...",
		Aliases:           []string{"describe", "show"},
		Short:             "Show the details of tasks",
		Long:              "Show the details of tasks.\n\n" + ref.Help,
		Example:           "  k8s-cli jobs status mqp6bsu4\n  k8s-cli jobs status mqp6bsu4 -o yaml",
		Args:              takes(1, anyNumber),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error { return printStatuses(ctx, c, p, ids) })
	s.shortFlag(cmd)
	return cmd
}

func printStatuses(ctx context.Context, c *client.Client, p *printer, ids []string) error {
	found, missing := each(ids, func(text string) (task.Status, error) { return ref.Task(ctx, c, text) })
	err := presentAll(p, len(ids), found, func(i int) {
		if i > 0 {
			fmt.Fprintln(p.Out)
		}
		show.Task(p.Out, p.Style, found[i])
		if t, err := c.Spec(ctx, found[i].ID); err == nil { // an old server may have forgotten it
			show.Requested(p.Out, p.Style, t)
		}
	})
	return cmp.Or(err, missing)
}

// newGetCommand returns the command get of users of kubectl: the list without an id, the status
// with ids.
func newGetCommand(e *env, s *server) *cobra.Command {
	cmd := newListCommand(e, s)
	list := cmd.RunE
	cmd.Use, cmd.Aliases, cmd.Hidden = "get [ID...]", nil, true
	cmd.Short, cmd.Long = "List tasks, or show the details of tasks", "List tasks, or show the details of tasks, as list and status do.\n\n"+ref.Help
	cmd.Args, cmd.ValidArgsFunction = takes(0, anyNumber), complete.Tasks(s.completion)
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		if len(ids) == 0 {
			return list(cmd, ids)
		}
		p := newPrinter(&e.Console, &cobra.Command{})
		if err := p.format.Set(cmd.Flag("output").Value.String()); err != nil {
			return err
		}
		return s.run(func(ctx context.Context, c *client.Client, ids []string) error { return printStatuses(ctx, c, p, ids) })(cmd, ids)
	}
	return cmd
}
