package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/task"
)

func newWhoamiCommand(e *env) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "whoami",
		Short:             "Show the current user, with limits and usage",
		Example:           "  k8s-cli auth whoami\n  k8s-cli auth whoami -o json",
		Args:              takes(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return e.whoami(cmd.Context()) },
	}
	outputFlag(cmd, e)
	return cmd
}

// An identity is who the user is here, and who the server says.
type identity struct {
	login
	*task.Whoami
}

// whoami asks the server. If it cannot be reached, or is too old to say, what
// this machine knows has to do.
func (e *env) whoami(ctx context.Context) error {
	c, err := e.client()
	if errors.Is(err, errNotLoggedIn) {
		return e.present(login{}, func() { fmt.Fprintln(e.out, "Not logged in") })
	}
	if err != nil {
		return err
	}
	who, err := c.Whoami(ctx)
	if err != nil {
		return e.whoamiHere(err)
	}
	return e.present(identity{login{who.User}, &who}, func() {
		for _, line := range append([]string{"Logged in as: " + who.User}, more(who)...) {
			fmt.Fprintln(e.out, show.Plain(line))
		}
	})
}

// whoamiHere says who logged in here last, though the server did not say so.
func (e *env) whoamiHere(why error) error {
	if errors.Is(why, task.ErrUnauthorized) || errors.Is(why, task.ErrForbidden) {
		return why
	}
	name := ""
	if c, err := e.credential(); err == nil && c != nil {
		name = c.User
	} else if name, err = e.user(); err != nil {
		return err
	}
	if !errors.Is(why, task.ErrNotFound) {
		e.warn("%v", why)
	}
	return e.present(login{name}, func() { fmt.Fprintln(e.out, "Logged in as: "+show.Plain(name)) })
}

// more returns what there is to say beyond the name.
func more(who task.Whoami) (lines []string) {
	if len(who.Groups) > 0 {
		lines = append(lines, "Groups: "+strings.Join(who.Groups, ", "))
	}
	if who.Admin {
		lines = append(lines, "Administrator: yes")
	}
	for _, l := range who.Limits.Sentences(who.Usage) {
		lines = append(lines, "Limit: "+l)
	}
	return lines
}
