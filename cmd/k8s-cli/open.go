package main

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/pkg/client"
)

func newOpenCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "open ID",
		Short:             "Open a task in the dashboard",
		Long:              "Open a task in the dashboard. Without a browser on this machine, the command\nprints the URL.\n\n" + ref.Help,
		Example:           "  k8s-cli jobs open mqp6bsu4",
		Args:              takes(1, 1),
		ValidArgsFunction: complete.Tasks(s.completion),
	}
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error {
		t, err := ref.Task(ctx, c, ids[0])
		if err != nil {
			return err
		}
		return e.openPage(strings.TrimRight(s.url(), "/") + "/ui/tasks/" + url.PathEscape(t.ID))
	})
	s.shortFlag(cmd)
	return cmd
}

// openPage opens a page in the browser of the user, or prints the address of the page.
func (e *env) openPage(address string) error {
	if e.browse != nil {
		err := e.browse(address)
		if err == nil {
			e.Say("Opening %s", address)
			return nil
		}
		e.Warn("cannot start the browser: %v", err)
	}
	fmt.Fprintln(e.Out, address)
	return nil
}
