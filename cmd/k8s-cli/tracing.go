package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/trace"
)

const tracesTimeout = 2 * time.Second // for the spans to be handed over

// A tracedCommand is a command that may be a span. The zero one is none.
type tracedCommand struct {
	tracer *trace.Tracer
	span   *trace.Span
}

// openTrace has every request of a command be part of its trace, if the environment
// wants one.
func openTrace(ctx context.Context, e *env) (*tracedCommand, error) {
	tracer, err := trace.Open(ctx, "k8s-cli", e.getenv, nil)
	if tracer == nil || err != nil {
		return &tracedCommand{}, err
	}
	connect := e.connect
	e.connect = func(url, user string) *client.Client {
		return connect(url, user).Wrap(tracer.Transport)
	}
	return &tracedCommand{tracer: tracer}, nil
}

func (t *tracedCommand) begin(cmd *cobra.Command) {
	if t.tracer == nil {
		return
	}
	ctx, span := t.tracer.Start(cmd.Context(), trace.Internal, cmd.CommandPath(), "")
	cmd.SetContext(ctx)
	t.span = span
}

func (t *tracedCommand) end(err error) {
	t.span.End(err)
	ctx, cancel := context.WithTimeout(context.Background(), tracesTimeout)
	defer cancel()
	_ = t.tracer.Close(ctx) // nobody asked how it went
}
