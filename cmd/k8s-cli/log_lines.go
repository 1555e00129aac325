package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task/logpos"
)

// checkNumbers checks --lines, which prints the present log and exits.
func (l *logging) checkNumbers(cmd *cobra.Command) error {
	if !cmd.Flags().Changed("lines") {
		return nil
	}
	for _, flag := range []string{"tail", "since", "follow", "parallel", "download"} {
		if cmd.Flags().Changed(flag) {
			return exit.Usagef("--lines cannot be combined with --%s; omit one of them", flag)
		}
	}
	var err error
	if l.numbered, err = logpos.ParseRange(l.numbers); err != nil {
		return exit.Usagef("--%v", err)
	}
	if l.numbered.Tail > logpos.MaxLines {
		return exit.Usagef("--lines: at most the last %d lines; give the number of the first line instead", logpos.MaxLines)
	}
	l.NoFollow = true
	return nil
}

// copyLines copies the lines of --lines, in as many requests as necessary.
func copyLines(ctx context.Context, c *client.Client, id string, o logging, out io.Writer) error {
	for want := o.numbered; ; {
		part, err := c.LogLines(ctx, id, want, client.LogOptions{Node: o.Node, Attempt: o.Attempt, Timestamps: o.Timestamps})
		if err != nil {
			return err
		}
		if _, err := out.Write(part.Text); err != nil {
			return err
		}
		if part.First == 0 || want.First == 0 || part.Last >= want.Last || part.Last == part.Total {
			return nil
		}
		want.First = part.Last + 1
	}
}
