package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/login"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client/account"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

func newWhoamiCommand(e *env, s *server) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "whoami",
		Short:             "Show the current user, with limits and usage",
		Example:           "  k8s-cli auth whoami\n  k8s-cli auth whoami -o json",
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	p := newPlainPrinter(&e.Console, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return whoami(cmd.Context(), p, s.account()) }
	return cmd
}

// A localUser is the user name that this machine has stored.
type localUser struct {
	Username string `json:"username"`
}

// An identity is the user name on this machine, and the identity that the server reports.
type identity struct {
	localUser
	*task.Whoami
}

// whoami prints the identity that the server reports. If the server is unreachable or too
// old, whoami prints the user name that this machine has stored.
func whoami(ctx context.Context, p *printer, a *login.Account) error {
	c, err := a.Client()
	if errors.Is(err, account.ErrNotLoggedIn) {
		return p.present(localUser{}, func() { fmt.Fprintln(p.Out, "Not logged in") })
	}
	if err != nil {
		return err
	}
	who, err := c.Whoami(ctx)
	if err != nil {
		return whoamiHere(p, a, err)
	}
	return p.present(identity{localUser{who.User}, &who}, func() {
		for _, line := range append([]string{"Logged in as: " + who.User}, more(who)...) {
			fmt.Fprintln(p.Out, show.Plain(line))
		}
	})
}

// whoamiHere prints the user who logged in last on this machine. It prints why as a warning,
// unless the server is too old to report an identity. It returns why if the server rejected
// the credentials.
func whoamiHere(p *printer, a *login.Account, why error) error {
	if errors.Is(why, problem.Unauthorized) || errors.Is(why, problem.Forbidden) {
		return why
	}
	name, err := a.LastUser()
	if err != nil {
		return err
	}
	if !errors.Is(why, problem.NotFound) {
		p.Warn("%v", why)
	}
	return p.present(localUser{name}, func() { fmt.Fprintln(p.Out, "Logged in as: "+show.Plain(name)) })
}

// more returns the lines that follow the name of the user.
func more(who task.Whoami) (lines []string) {
	if len(who.Groups) > 0 {
		lines = append(lines, "Groups: "+strings.Join(who.Groups, ", "))
	}
	if who.Admin {
		lines = append(lines, "Administrator: yes")
	}
	for _, l := range show.Limits(who.Limits, who.Usage) {
		lines = append(lines, "Limit: "+l)
	}
	return lines
}
