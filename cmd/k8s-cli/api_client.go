package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/login"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/account"
)

const apiURLHelp = "`URL` of the k8s-cli server (default " + account.URLEnv + ", or " + account.DefaultURL + ")"

// A server is the API server that the flags and the environment select.
type server struct {
	env          *env
	apiURL       string // --api-url
	insecureHTTP bool   // --insecure-http
}

// flags adds the flags that select the server to all commands below root.
func (s *server) flags(root *cobra.Command) {
	root.PersistentFlags().Var(urlFlag{&s.apiURL}, "api-url", apiURLHelp)
	root.PersistentFlags().BoolVar(&s.insecureHTTP, "insecure-http", false,
		"send tokens over plain HTTP to another machine, although others on the network can read them (default "+account.InsecureHTTPEnv+")")
}

// shortFlag adds -u for --api-url to a command, as in the original launcher. Some other
// commands use -u for --all-users.
func (s *server) shortFlag(cmd *cobra.Command) {
	cmd.Flags().VarP(urlFlag{&s.apiURL}, "api-url", "u", apiURLHelp)
}

func (s *server) url() string { return cmp.Or(s.apiURL, s.env.lookup.URL()) }

// allowsPlainHTTP reports whether the user accepts that tokens are sent unencrypted.
func (s *server) allowsPlainHTTP() bool { return s.insecureHTTP || s.env.lookup.AllowsPlainHTTP() }

// dial returns a client that sends user as the name of the user.
func (s *server) dial(user string) *client.Client {
	c := s.env.connect(s.url(), user)
	if s.allowsPlainHTTP() {
		c.AllowPlainHTTP()
	}
	return c
}

// run returns the RunE function of a command that needs only a client and its arguments.
func (s *server) run(do func(ctx context.Context, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := s.client()
		if err != nil {
			return err
		}
		return do(cmd.Context(), c, args)
	}
}

// account returns the account of the user at the server.
func (s *server) account() *login.Account {
	return &login.Account{
		Console:         &s.env.Console,
		Settings:        s.env.settings,
		URL:             s.url(),
		AllowsPlainHTTP: s.allowsPlainHTTP(),
		Dial:            s.dial,
		Environment:     s.env.lookup,
		Browse:          s.env.browse,
	}
}

// client returns a client with the credentials of the logged-in user.
func (s *server) client() (*client.Client, error) { return s.account().Client() }

// completion returns a client for the completion of a shell. The client writes no messages and
// asks no questions.
func (s *server) completion() (*client.Client, error) {
	a := s.account()
	quiet := *a.Console
	quiet.ErrOut, quiet.Asks, quiet.Interactive = io.Discard, false, false
	a.Console = &quiet
	return a.Client()
}
