package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

func newSpecCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "spec ID...",
		Short:             "Print tasks as submitted, with secrets redacted",
		Long:              "Print tasks as submitted, with secrets redacted.\n\n" + ref.Help,
		Example:           "  k8s-cli jobs spec mqp6bsu4 > task.yaml",
		Args:              takes(1, anyNumber),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error { return printSpecs(ctx, c, p, ids) })
	s.shortFlag(cmd)
	return cmd
}

// printSpecs prints one YAML task file for each task, or the specifications as data with
// --output.
func printSpecs(ctx context.Context, c *client.Client, p *printer, ids []string) error {
	found, missing := each(ids, ref.OfTask(ctx, c, func(id string) (task.Spec, error) { return c.Spec(ctx, id) }))
	var wrong error
	err := presentAll(p, len(ids), found, func(i int) {
		if i > 0 {
			fmt.Fprintln(p.Out, "---")
		}
		wrong = errors.Join(wrong, show.Data(p.Out, show.YAML, found[i]))
	})
	return errors.Join(err, wrong, missing)
}
