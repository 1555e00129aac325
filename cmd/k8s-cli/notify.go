package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task/callback"
)

const notifySecretHelp = `Show the secret with which the server signs your notifications.

A receiver of notifications (--notify of jobs submit) verifies the signatures
with this secret, as Standard Webhooks defines it. Pass the secret only to your
receivers: a program with the secret can send notifications in the name of the
server.`

func newNotifySecretCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notify-secret",
		Short: "Show the secret that verifies your notifications",
		Long:  notifySecretHelp,
		Example: `  # Store the secret in a file for a receiver
  k8s-cli jobs notify-secret > secret`,
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPlainPrinter(&e.Console, cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, _ []string) error {
		secret, err := c.NotifySecret(ctx)
		if err != nil {
			return err
		}
		return p.present(callback.Secret{Secret: secret}, func() { fmt.Fprintln(p.Out, show.Plain(secret)) })
	})
	return cmd
}
