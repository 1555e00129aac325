// Package complete offers ids, names and files to the shell.
package complete

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task/query"
)

const (
	timeout = time.Second // a shell waits for a completion
	limit   = 200         // ids and names to offer
)

// An Open returns a client that writes no messages.
type Open func() (*client.Client, error)

// offered returns what offer offers with a client of the server. It offers nothing after an
// error, and prints nothing: a shell would mix the message into the command line.
func offered(cmd *cobra.Command, open Open, offer func(context.Context, *client.Client) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx := cmd.Context()
	if ctx == nil { // of a command that was not executed
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c, err := open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return offer(ctx, c), cobra.ShellCompDirectiveNoFileComp
}

// Tasks offers the ids and the names of the newest tasks.
func Tasks(open Open) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return offered(cmd, open, func(ctx context.Context, c *client.Client) (all []cobra.Completion) {
			page, err := c.RowPage(ctx, query.Tasks{Limit: limit})
			if err != nil {
				return nil
			}
			o := newOffers(args, typed)
			now := time.Now()
			for _, r := range page.Items {
				o.add(r.ID, r.Name+", "+string(r.Phase)+", "+show.Since(r.Created, now)+" ago")
			}
			for _, r := range page.Items {
				o.add(r.Name, "name of "+r.ID+", "+string(r.Phase))
			}
			if len(page.Items) > 0 {
				o.add(ref.Last, "your newest task, "+page.Items[0].Name)
			}
			return o.all
		})
	}
}

// Volumes offers the ids and the names of the volumes.
func Volumes(open Open) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return offered(cmd, open, func(ctx context.Context, c *client.Client) (all []cobra.Completion) {
			volumes, err := c.Volumes(ctx, false)
			if err != nil {
				return nil
			}
			o := newOffers(args, typed)
			for _, v := range volumes[:min(len(volumes), limit)] {
				o.add(v.ID, v.Name+", "+v.Size+", "+v.Phase)
				o.add(v.Name, "name of "+v.ID)
			}
			return o.all
		})
	}
}

// Groups offers the names of the newest groups.
func Groups(open Open) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return offered(cmd, open, func(ctx context.Context, c *client.Client) (all []cobra.Completion) {
			page, err := c.Groups(ctx, client.GroupQuery{Limit: limit})
			if err != nil {
				return nil
			}
			o := newOffers(args, typed)
			for _, g := range page.Items {
				o.add(g.Name, show.Count(g.Total)+" tasks, "+string(g.Phase)+", "+show.Since(g.SubmittedAt.Unix(), time.Now())+" ago")
			}
			return o.all
		})
	}
}

// offers collects completions.
type offers struct {
	typed string
	known map[string]bool // already offered, or already on the command line
	all   []cobra.Completion
}

func newOffers(args []string, typed string) *offers {
	o := &offers{typed: typed, known: map[string]bool{"": true}}
	for _, arg := range args {
		o.known[arg] = true
	}
	return o
}

// add offers a text that begins with the typed text.
func (o *offers) add(text, description string) {
	if o.known[text] || !strings.HasPrefix(text, o.typed) || show.Plain(text) != text {
		return
	}
	o.known[text] = true
	o.all = append(o.all, cobra.CompletionWithDesc(text, show.Plain(description)))
}

// One limits a completion to one argument.
func One(complete cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return complete(cmd, args, typed)
	}
}

// TaskFiles offers YAML files and directories.
func TaskFiles(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
