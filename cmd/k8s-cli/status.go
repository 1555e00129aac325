package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

func newStatusCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "status ID...",
		Short:             "Show the details of tasks",
		Long:              "Show the details of tasks.\n\n" + refHelp,
		Example:           "  k8s-cli jobs status mqp6bsu4\n  k8s-cli jobs status mqp6bsu4 -o yaml",
		Args:              takes(1, anyNumber),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error { return printStatuses(ctx, c, p, ids) })
	s.shortFlag(cmd)
	return cmd
}

func printStatuses(ctx context.Context, c *client.Client, p *printer, ids []string) error {
	found, missing := each(ids, func(text string) (task.Status, error) { return findTask(ctx, c, text) })
	err := presentAll(p, len(ids), found, func(i int) {
		if i > 0 {
			fmt.Fprintln(p.Out)
		}
		show.Task(p.Out, p.Style, found[i])
	})
	return cmp.Or(err, missing)
}
