package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"k8s-cli/cmd/k8s-cli/internal/show"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const eventsExample = `  # Print the events of a %[1]s
  k8s-cli %[2]s events mqp6bsu4

  # Print new events as JSON lines
  k8s-cli %[2]s events mqp6bsu4 --follow -o json`

const eventsHelp = `Print the events of a %[1]s, oldest first: each change of its phase, and the
reasons why it waited.

With --follow, print new events until the %[1]s ends. JSON output then has one
event per line.`

func newEventsCommand(e *env, kind task.Kind, group, shows string) *cobra.Command {
	var follow bool
	cmd := &cobra.Command{
		Use:               "events ID",
		Short:             shows,
		Long:              fmt.Sprintf(eventsHelp, kind),
		Example:           fmt.Sprintf(eventsExample, kind, group),
		Args:              takes(1, 1),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, ids []string) error {
			c, err := e.client()
			if err != nil {
				return err
			}
			source := client.EventSource{Key: task.Key{Kind: kind, ID: ids[0]}}
			if follow {
				return e.followEvents(cmd.Context(), c, source)
			}
			return e.events(cmd.Context(), c, source)
		},
	}
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "print new events until the "+string(kind)+" ends")
	shortAPIURL(cmd, e)
	outputFlag(cmd, e)
	return cmd
}

func (e *env) events(ctx context.Context, c *client.Client, s client.EventSource) error {
	events, err := c.Events(ctx, s)
	if err != nil {
		return err
	}
	return e.present(task.EventList{Events: append([]task.Event{}, events...)}, func() {
		if len(events) == 0 {
			fmt.Fprintln(e.out, "No events found")
			return
		}
		show.Events(e.out, e.style, events)
	})
}

func (e *env) followEvents(ctx context.Context, c *client.Client, s client.EventSource) error {
	stream, err := c.Listen(ctx, s)
	if err != nil {
		return err
	}
	defer stream.Close()
	table := show.NewLive(e.out, e.style)
	for {
		event, err := stream.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case e.format.IsData():
			err = e.printRecord(event)
		default:
			table.Events(event)
		}
		if err = errors.Join(err, e.out.err); err != nil {
			return err
		}
	}
}

// printRecord prints one of many answers: a line of JSON, or a document of YAML.
func (e *env) printRecord(answer any) error {
	if e.format == show.YAML {
		fmt.Fprintln(e.out, "---")
		return show.Data(e.out, e.format, answer)
	}
	return show.DataLine(e.out, answer)
}
