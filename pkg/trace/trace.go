// Package trace tells where a submission's time goes, as OpenTelemetry has it:
// one trace from the command line to the creation of its Jobs. It is off unless
// the environment names who collects traces, and costs nothing then.
package trace

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	otrace "go.opentelemetry.io/otel/trace"
)

// Header is the one by which W3C Trace Context says what a request is part of.
const Header = "Traceparent"

const (
	exportTimeout = 5 * time.Second // of one attempt to hand spans over
	scope         = "k8s-cli"
)

// A Tracer begins spans. The nil Tracer begins none. Any number of goroutines may
// use it at once.
type Tracer struct {
	tracer   otrace.Tracer
	provider *sdk.TracerProvider
}

// Open returns a tracer of a service as the environment wants it, nil if it wants
// none. Spans that cannot be handed over are said to logger, which may be nil.
func Open(ctx context.Context, service string, getenv func(string) string, logger *slog.Logger) (*Tracer, error) {
	if on, err := wanted(getenv); !on || err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	// The library has one place for this in a process.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces are lost", "err", err) }))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithTimeout(exportTimeout))
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service)), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("traces: OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return &Tracer{provider.Tracer(scope), provider}, nil
}

// wanted reports whether the environment names who collects traces, over the one
// protocol that is spoken here.
func wanted(getenv func(string) string) (bool, error) {
	first := func(name string) string {
		if value := getenv("OTEL_EXPORTER_OTLP_TRACES_" + name); value != "" {
			return value
		}
		return getenv("OTEL_EXPORTER_OTLP_" + name)
	}
	if first("ENDPOINT") == "" || getenv("OTEL_SDK_DISABLED") == "true" || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false, nil
	}
	if exporter := getenv("OTEL_TRACES_EXPORTER"); exporter != "" && exporter != "otlp" {
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: %q must be otlp or none", exporter)
	}
	if protocol := first("PROTOCOL"); protocol != "" && protocol != "http/protobuf" {
		return false, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not spoken, only http/protobuf", protocol)
	}
	return true, nil
}

// Close hands over the spans that have ended, for which it takes as long as ctx
// lasts.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// A Kind says which side of a question a span is.
type Kind = otrace.SpanKind

// The kinds of spans.
const (
	Internal = otrace.SpanKindInternal
	Client   = otrace.SpanKindClient
	Server   = otrace.SpanKindServer
	Consumer = otrace.SpanKindConsumer // of what was asked for before
)

// Start begins a span below the one of parent, which is as the header has it, or
// else below the one of ctx. The context it returns is within the span.
func (t *Tracer) Start(ctx context.Context, kind Kind, name, parent string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	if parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{"traceparent": parent})
	}
	ctx, span := t.tracer.Start(ctx, name, otrace.WithSpanKind(kind))
	return ctx, &Span{span}
}

// A Span is a piece of work that is timed. The nil Span is none.
type Span struct{ span otrace.Span }

// SetName names the span anew.
func (s *Span) SetName(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// SetString notes something about the span.
func (s *Span) SetString(name, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// SetInt notes a number about the span.
func (s *Span) SetInt(name string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(name, value))
	}
}

// End ends the span; err is why its work did not succeed, or nil.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// Parent returns the span of ctx as the header has it, for what is to be part of
// the same trace; empty if nobody traces it.
func Parent(ctx context.Context) string {
	if !otrace.SpanContextFromContext(ctx).IsSampled() {
		return ""
	}
	return header(ctx)
}

func header(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier["traceparent"]
}

// ID returns the id of the trace that ctx is part of, 32 hexadecimal digits; empty
// if nobody traces it.
func ID(ctx context.Context) string {
	if of := otrace.SpanContextFromContext(ctx); of.IsSampled() {
		return of.TraceID().String()
	}
	return ""
}
