package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/complete"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/ref"
	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const eventsExample = `  # Print the events of a %[1]s
  k8s-cli %[2]s events mqp6bsu4

  # Print new events as JSON lines
  k8s-cli %[2]s events mqp6bsu4 --follow -o json`

const groupEventsExample = `

  # Print the new events of a sweep until all its tasks end
  k8s-cli %s events --group shards --follow`

const eventsHelp = `Print the events of a %[1]s, oldest first: each change of its phase.

With --follow, print new events until the %[1]s ends, and also each new reason
why the %[1]s waits, for example Unschedulable. JSON output then has one event
per line.`

func newEventsCommand(e *env, s *server, kind task.Kind, group, shows string) *cobra.Command {
	var follow bool
	var inGroup string
	offer := complete.Tasks(s.completion)
	if kind == task.KindVolume {
		offer = complete.Volumes(s.completion)
	}
	cmd := &cobra.Command{
		Use:               "events ID",
		Short:             shows,
		Long:              fmt.Sprintf(eventsHelp, kind),
		Example:           fmt.Sprintf(eventsExample, kind, group),
		Args:              takes(1, 1),
		ValidArgsFunction: complete.One(offer),
	}
	if kind == task.KindTask {
		cmd.Use, cmd.Args = "events [ID]", takesOrGroup(1, 1)
		cmd.Example += fmt.Sprintf(groupEventsExample, group)
		groupFlag(cmd, s, &inGroup, "print the events of the tasks in the group of this `name`")
	}
	p := newPrinter(&e.Console, cmd)
	cmd.RunE = s.run(func(ctx context.Context, c *client.Client, ids []string) error {
		switch {
		case follow && p.format == show.Name:
			return exit.Usagef("--follow prints events, not ids; pass -o json or jsonpath=TEMPLATE")
		case len(ids) == 0 && follow:
			return followGroupEvents(ctx, c, p, inGroup)
		case len(ids) == 0:
			return printGroupEvents(ctx, c, p, inGroup)
		case follow:
			return followEvents(ctx, c, p, kind, ids[0])
		}
		return printEvents(ctx, c, p, kind, ids[0])
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new events until the "+string(kind)+" ends")
	s.shortFlag(cmd)
	return cmd
}

// sourceOf returns the source of the events of one object.
func sourceOf(kind task.Kind, id string) client.EventSource {
	return client.EventSource{Key: task.Key{Kind: kind, ID: id}}
}

func printEvents(ctx context.Context, c *client.Client, p *printer, kind task.Kind, text string) error {
	events, err := ref.Of(ctx, c, kind, func(id string) ([]task.Event, error) { return c.Events(ctx, sourceOf(kind, id)) })(text)
	if err != nil {
		return err
	}
	return p.present(task.EventList{Events: append([]task.Event{}, events...)}, func() {
		if len(events) == 0 {
			fmt.Fprintln(p.Out, "No events found")
			return
		}
		show.Events(p.Out, p.Style, events)
	})
}

func followEvents(ctx context.Context, c *client.Client, p *printer, kind task.Kind, text string) error {
	stream, err := ref.Of(ctx, c, kind, func(id string) (*client.EventStream, error) { return c.Subscribe(ctx, sourceOf(kind, id)) })(text)
	if err != nil {
		return err
	}
	defer stream.Close()
	table := show.NewLive(p.Out, p.Style)
	for {
		event, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case p.format.IsData():
			err = p.record(event)
		default:
			table.Events(event)
		}
		if err = errors.Join(err, p.Out.Err()); err != nil {
			return err
		}
	}
}
