package main

import (
	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/login"
)

func newLoginCommand(s *server) *cobra.Command {
	var how login.Options
	cmd := &cobra.Command{
		Use:   "login [USERNAME]",
		Short: "Log in to the server",
		Long: `Log in to the server. After the login, all commands act as this user.

Without arguments, the command asks the server for its login method. USERNAME
logs in by name, if the server accepts names. With an OpenID Connect issuer, the
command opens a browser, after you confirm an issuer that is new for this
server. The command sends the token of your kubeconfig only with
--from-kubeconfig, or after you confirm it at a prompt.

The command stores a token for this server only, in a file that only you can
read, and a name for all servers that accept names. K8S_CLI_USER has precedence
over a name that the command stored.`,
		Example: `  # Log in by the method that the server uses
  k8s-cli auth login

  # Log in by name, to a server that trusts names
  k8s-cli auth login ann@example.com

  # Log in with a Kubernetes token
  kubectl create token ann | k8s-cli auth login --token-stdin

  # Log in from a machine without a browser
  k8s-cli auth login --device`,
		Args:              takes(0, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				how.Name = args[0]
			}
			how.Named = len(args) == 1
			return s.account().LogIn(cmd.Context(), how)
		},
	}
	f := cmd.Flags()
	f.StringVar(&how.Token, "token", "", "token to log in with; prefer --token-stdin, which keeps the token out of the process list")
	f.BoolVar(&how.TokenStdin, "token-stdin", false, "read the token from standard input")
	f.BoolVar(&how.Kubeconfig, "from-kubeconfig", false, "log in with the token of the current kubeconfig context, or of its credential plugin")
	f.BoolVar(&how.Device, "device", false, "log in at the OpenID Connect issuer of the server with a code that you enter in any browser")
	f.StringVar(&how.Issuer, "issuer", "", "OpenID Connect issuer that you expect the server to use; the command then asks no question")
	f.BoolVar(&how.NoBrowser, "no-browser", false, "do not open a browser on this machine; the same as --device if the server has an issuer")
	return cmd
}

func newLogoutCommand(e *env, s *server) *cobra.Command {
	return &cobra.Command{
		Use:   "logout",
		Short: "Log out of the server",
		Long: `Log out of the server. The command deletes the stored credentials for the server
and the stored user name, and revokes the session at the OpenID Connect issuer
if the issuer has a revocation endpoint. Tokens from an administrator
or from a kubeconfig stay valid: the CLI only stops using them.`,
		Example:           "  k8s-cli auth logout",
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.account().LogOut(cmd.Context()); err != nil {
				return err
			}
			e.Done("Logged out of " + s.url())
			return nil
		},
	}
}
