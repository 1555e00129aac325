package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task/overview"
)

const capacityHelp = `

Free is what the machines offer minus what the tasks of this server request.
Pods of other programs may use a part of the free resources.`

func newGPUsCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "gpus",
		Aliases: []string{"show-gpus"},
		Short:   "Show the GPUs of the cluster, and how many are free",
		Long: `Show the GPUs of the cluster by model, and how many are free.

Largest is the number of GPUs of the largest machine: a node of a task cannot
have more GPUs. Largest free is the largest number of free GPUs on one machine:
a node that requests more GPUs waits.` + capacityHelp,
		Example: `  # Show the GPUs
  k8s-cli gpus`,
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	capacityCommand(s, newPlainPrinter(&e.Console, cmd), cmd, "The cluster has no GPUs", func(c overview.Capacity) int { return len(c.GPUs) }, show.GPUs)
	return cmd
}

func newNodesCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Show the machines of the cluster, and what is free on them",
		Long: `Show the machines of the cluster, and what is free on them: CPUs, memory, GPUs
and pods, each as free/total.` + capacityHelp,
		Example: `  # Show the machines
  k8s-cli nodes

  # Print the names of the machines with H100 GPUs
  k8s-cli nodes -o jsonpath='{.nodes[?(@.gpu=="H100")].name}'`,
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	capacityCommand(s, newPrinter(&e.Console, cmd), cmd, "The cluster has no machines", func(c overview.Capacity) int { return len(c.Nodes) }, show.Machines)
	return cmd
}

// capacityCommand lets cmd print a part of the capacity of the cluster as a table. none says
// that the part is empty.
func capacityCommand(s *server, p *printer, cmd *cobra.Command, none string, count func(overview.Capacity) int, table show.CapacityTable) {
	p.headerFlag(cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, _ []string) error {
		got, err := c.Capacity(ctx)
		if err != nil {
			return err
		}
		return p.present(got, func() {
			switch {
			case !got.Known:
				p.Warn("The server cannot see the machines of the cluster; ask its administrator for the permission to list nodes")
			case count(got) == 0:
				p.Say("%s", none)
			default:
				table(p.Out, p.Style, got)
				if w := got.Waiting; w.Pods > 0 {
					wait := "pods wait"
					if w.Pods == 1 {
						wait = "pod waits"
					}
					fmt.Fprintf(p.ErrOut, "%s %s for a machine: %s\n", show.Count(int(w.Pods)), wait, show.Amounts(w))
				}
			}
		})
	})
}
