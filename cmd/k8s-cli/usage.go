package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task/usage"
)

const usageHelp = `Show the resources that your ended tasks have used: what the nodes of the tasks
requested, multiplied by the time for which the nodes ran, restarts included.

A task counts when it ends. A run over midnight (UTC) counts for both days. The
server keeps the usage for 400 days, also of tasks that it has forgotten.`

func newUsageCommand(e *env, s *server) *cobra.Command {
	var q client.UsageQuery
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show the resources that tasks have used",
		Long:  usageHelp,
		Example: `  # Show the usage of each of the last 7 days
  k8s-cli jobs usage --since 7d

  # Show the usage of each sweep of this month
  k8s-cli jobs usage --since 2026-11-01 --by group

  # Write the usage of all users to a file, for a spreadsheet
  k8s-cli jobs usage --since 30d --by day,user -u -o csv > usage.csv`,
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newFormatPrinter(&e.Console, cmd, "table, csv, json, yaml or jsonpath=TEMPLATE", append([]string{string(show.CSV)}, show.PlainFormats...)...)
	p.headerFlag(cmd)
	groupFlag(cmd, s, &q.Group, "only the tasks in the group of this `name`")
	cmd.Flags().StringVar(&q.Since, "since", "", "first day: an `age` such as 30d or 2w, or a date such as 2026-11-01 (default 30d)")
	cmd.Flags().StringSliceVar(&q.By, "by", nil, "`fields` for which the report has rows: day, user and group (default day)")
	cmd.Flags().BoolVarP(&q.AllUsers, "all-users", "u", false, "report the tasks of all users")
	_ = cmd.RegisterFlagCompletionFunc("by", cobra.FixedCompletions([]string{usage.ByDay, usage.ByUser, usage.ByGroup}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, _ []string) error {
		if _, err := usage.ParseBy(strings.Join(q.By, ",")); err != nil {
			return exit.Usagef("--%v", err)
		}
		report, err := c.Usage(ctx, q)
		if err != nil {
			return err
		}
		if p.format == show.CSV {
			return show.UsageCSV(p.Out, report, q.By)
		}
		return p.present(report, func() { show.Usage(p.Out, p.Style, report, q.By) })
	})
	return cmd
}
