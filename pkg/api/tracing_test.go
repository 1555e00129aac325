package api

import (
	"bytes"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"k8s-cli/pkg/api/framing/framingtest"
	"k8s-cli/pkg/trace"
	"k8s-cli/test/testkit/must"
)

const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestSubmissionsAreTraced checks that the trace of a request is in the submissions, also
// in those of a batch, and in the audit log.
func TestSubmissionsAreTraced(t *testing.T) {
	collector := httptest.NewServer(http.NotFoundHandler())
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	tracer, err := trace.Open(t.Context(), "test", os.Getenv, nil)
	must.Succeed(t, err)
	defer func() { _ = tracer.Close(t.Context()) }()
	s := serveWith(t, &fake{}, func(c *Config) { c.Trace = tracer })
	for _, tt := range []struct{ path, body, header, want string }{
		{"/tasks/submit", `{"run": "true"}`, parent, parent[:36]},
		{"/tasks/batch", `[{"run": "true"}, {"run": "true"}]`, parent, parent[:36]},
		{"/tasks/submit", `{"run": "true"}`, strings.TrimSuffix(parent, "1") + "0", ""},
		{"/tasks/batch", `[{"run": "true"}]`, strings.TrimSuffix(parent, "1") + "0", ""},
	} {
		s.logged.Reset()
		if got := s.send(http.MethodPost, tt.path, tt.body, trace.TraceparentHeader, tt.header); got.StatusCode != 200 {
			t.Fatalf("%s: %d %s", tt.path, got.StatusCode, got.body)
		}
		for _, c := range s.take() {
			got := c.Submit.Trace
			if !strings.HasPrefix(got, tt.want) || (got == "") != (tt.want == "") || got == parent {
				t.Errorf("%s within %s: the submission has %q", tt.path, tt.header, got)
			}
		}
		if said := strings.Contains(s.logged.String(), "trace=4bf92f3577b34da6a3ce929d0e0e4736"); said != (tt.want != "") {
			t.Errorf("%s within %s: the log has %s", tt.path, tt.header, s.logged)
		}
	}
}

// TestTracesCostNothingWhereTheyAreOff checks that without tracing a Traceparent header
// costs no allocation.
func TestTracesCostNothingWhereTheyAreOff(t *testing.T) {
	f := &fake{health: Health{Ready: true}}
	s := f.newServer(Config{})
	s.app.Handler()
	// The smallest number of many runs counts, because the race detector empties pools at
	// random.
	allocations := func(more string) float64 {
		text := []byte("GET /tasks/a HTTP/1.1\r\nHost: x\r\nX-User: ann\r\n" + more + "\r\n")
		fewest := math.Inf(1)
		for range 200 {
			fewest = min(fewest, testing.AllocsPerRun(1, func() {
				_ = s.app.Server().ServeConn(framingtest.Conn{Reader: bytes.NewReader(text), Peer: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}})
			}))
		}
		return fewest
	}
	if without, within := allocations("X-Nothing: "+parent+"\r\n"), allocations(trace.TraceparentHeader+": "+parent+"\r\n"); within > without {
		t.Errorf("%.0f allocations within a trace, %.0f without", within, without)
	}
}
