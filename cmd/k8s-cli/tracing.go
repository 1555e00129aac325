package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/trace"
)

const tracesTimeout = 2 * time.Second // to export the spans

// A tracedCommand records a command as a span. The zero value records nothing.
type tracedCommand struct {
	tracer *trace.Tracer
	span   *trace.Span
}

// openTrace makes every request of a command part of one trace, if the environment
// enables tracing.
func openTrace(ctx context.Context, e *env) (*tracedCommand, error) {
	tracer, err := trace.Open(ctx, "k8s-cli", e.lookup.Get, nil)
	if tracer == nil || err != nil {
		return &tracedCommand{}, err
	}
	connect := e.connect
	e.connect = func(url, user string) *client.Client {
		return connect(url, user).WrapTransport(tracer.Transport)
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
	_ = t.tracer.Close(ctx) // a failed export does not change the result of the command
}
