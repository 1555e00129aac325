package trace

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestWhatTheEnvironmentWants(t *testing.T) {
	for _, tt := range []struct {
		name string
		env  map[string]string
		on   bool
		says string
	}{
		{"nothing", nil, false, ""},
		{"a collector", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true, ""},
		{"one of traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/v1/traces"}, true, ""},
		{"none of traces", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"}, false, ""},
		{"nothing at all", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"}, false, ""},
		{"our protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, true, ""},
		{"another protocol", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, false, "http/protobuf"},
		{"another exporter", map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "zipkin"}, false, "zipkin"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			on, err := wanted(func(name string) string { return tt.env[name] })
			if on != tt.on || (err != nil) != (tt.says != "") || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%v, %v, want %v and %q", on, err, tt.on, tt.says)
			}
		})
	}
}

// tracing returns a tracer whose collector rejects all spans.
func tracing(t *testing.T) *Tracer {
	t.Helper()
	collector := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(collector.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer, err := Open(t.Context(), "test", os.Getenv, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = tracer.Close(ctx)
	})
	return tracer
}

// TestParents checks that a valid parent is continued and an invalid parent is ignored, and
// that a trace that is not sampled stays unsampled.
func TestParents(t *testing.T) {
	tracer := tracing(t)
	const id, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for _, tt := range []struct{ name, parent, id string }{
		{"sampled", "00-" + id + "-" + span + "-01", id},
		{"not sampled", "00-" + id + "-" + span + "-00", ""},
		{"of zeros", "00-00000000000000000000000000000000-" + span + "-01", "new"},
		{"none", "", "new"},
		{"rubbish", "'; DROP TABLE spans\r\nX-User: root", "new"},
		{"too long", "00-" + id + "-" + span + "-01" + strings.Repeat("x", 1<<12), "new"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, s := tracer.Start(t.Context(), Server, "test", tt.parent)
			defer s.End(nil)
			got, parent := ID(ctx), Traceparent(ctx)
			switch {
			case tt.id == "new" && (len(got) != 32 || got == id), tt.id != "new" && got != tt.id:
				t.Errorf("the trace is %q, want %q", got, tt.id)
			case got == "" && parent != "", got != "" && (len(parent) != 55 || !strings.HasPrefix(parent, "00-"+got+"-")):
				t.Errorf("what is asked for within has the parent %q", parent)
			}
		})
	}
}

// TestNoTracer checks that a nil Tracer costs no allocation.
func TestNoTracer(t *testing.T) {
	var none *Tracer
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		in, span := none.Start(ctx, Server, "test", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
		span.SetName("x")
		span.SetString("a", "b")
		span.SetInt("c", 1)
		span.End(nil)
		if Traceparent(in) != "" || ID(in) != "" {
			t.Error("there is a trace")
		}
	}); n > 0 {
		t.Errorf("it allocates %.0f times", n)
	}
	if got := none.Transport(http.DefaultTransport); got != http.DefaultTransport {
		t.Error("requests are sent in another way")
	}
	if err := none.Close(ctx); err != nil {
		t.Error(err)
	}
}

func TestTransport(t *testing.T) {
	tracer := tracing(t)
	var said []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		said = append(said, r.Header.Get(TraceparentHeader))
	}))
	defer server.Close()
	ctx, span := tracer.Start(t.Context(), Internal, "test", "")
	defer span.End(nil)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Client{Transport: tracer.Transport(http.DefaultTransport)}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if len(said) != 1 || !strings.HasPrefix(said[0], "00-"+ID(ctx)+"-") || said[0] == Traceparent(ctx) || r.Header.Get(TraceparentHeader) != "" {
		t.Errorf("said %q within %q; the request itself has %q", said, Traceparent(ctx), r.Header.Get(TraceparentHeader))
	}
}
