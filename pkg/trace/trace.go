// Package trace records OpenTelemetry traces of submissions. One trace leads from the CLI to
// the creation of the Jobs. Tracing is off, at no cost, unless the environment names a
// collector.
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

// TraceparentHeader is the header of W3C Trace Context that names the parent span.
const TraceparentHeader = "Traceparent"

const (
	exportTimeout = 5 * time.Second // timeout of one export of spans
	scope         = "k8s-cli"
)

// A Tracer starts spans. A nil Tracer starts none. A Tracer is safe for concurrent use.
type Tracer struct {
	tracer   otrace.Tracer
	provider *sdk.TracerProvider
}

// Open returns a tracer of a service, configured by the environment, or nil if the
// environment disables tracing. The tracer logs failed exports to logger, which may be nil.
func Open(ctx context.Context, service string, getenv func(string) string, logger *slog.Logger) (*Tracer, error) {
	if on, err := wanted(getenv); !on || err != nil {
		return nil, err
	}
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	// OpenTelemetry has one error handler for the whole process.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("exporting traces failed; the traces are lost", "err", err) }))
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

// wanted reports whether the environment names a collector. The error says that the
// environment requires an exporter or a protocol that this package does not support.
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

// Close exports the remaining finished spans, until ctx ends at the latest.
func (t *Tracer) Close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}

// A Kind says which side of a request a span describes.
type Kind = otrace.SpanKind

// The kinds of spans.
const (
	Internal = otrace.SpanKindInternal
	Client   = otrace.SpanKindClient
	Server   = otrace.SpanKindServer
	Consumer = otrace.SpanKindConsumer // work on an earlier request
)

// Start starts a span. The parent of the span is parent, in the form of TraceparentHeader,
// or the span of ctx if parent is empty. The returned context contains the span.
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

// A Span times a piece of work. The methods of a nil Span do nothing.
type Span struct{ span otrace.Span }

// SetName renames the span.
func (s *Span) SetName(name string) {
	if s != nil {
		s.span.SetName(name)
	}
}

// SetString sets a string attribute of the span.
func (s *Span) SetString(name, value string) {
	if s != nil {
		s.span.SetAttributes(attribute.String(name, value))
	}
}

// SetInt sets an integer attribute of the span.
func (s *Span) SetInt(name string, value int) {
	if s != nil {
		s.span.SetAttributes(attribute.Int(name, value))
	}
}

// End ends the span. If err is not nil, the span failed, unless err is a cancellation.
func (s *Span) End(err error) {
	if s == nil {
		return
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End()
}

// Traceparent returns the span of ctx in the form of TraceparentHeader, for a later Start.
// Traceparent returns "" if the trace is not sampled.
func Traceparent(ctx context.Context) string {
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

// ID returns the trace id of ctx, 32 hexadecimal digits. ID returns "" if the trace is
// not sampled.
func ID(ctx context.Context) string {
	if of := otrace.SpanContextFromContext(ctx); of.IsSampled() {
		return of.TraceID().String()
	}
	return ""
}
