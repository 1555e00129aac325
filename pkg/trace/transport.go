package trace

import (
	"fmt"
	"net/http"
)

// Transport returns a transport that sends requests by next and sets TraceparentHeader on each
// request. The span of a request lasts until the response headers arrive.
func (t *Tracer) Transport(next http.RoundTripper) http.RoundTripper {
	if t == nil {
		return next
	}
	return transport{next, t}
}

type transport struct {
	next   http.RoundTripper
	tracer *Tracer
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(r.Context(), Client, r.Method, "")
	span.SetString("http.request.method", r.Method)
	span.SetString("url.full", r.URL.Redacted())
	r = r.Clone(ctx)
	r.Header.Set(TraceparentHeader, header(ctx)) // also if the trace is not sampled, so that no other service samples it
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		span.SetInt("http.response.status_code", answer.StatusCode)
		if answer.StatusCode >= http.StatusBadRequest {
			span.End(fmt.Errorf("%s", answer.Status))
			return answer, nil
		}
	}
	span.End(err)
	return answer, err
}

// CloseIdleConnections is called by http.Client.CloseIdleConnections.
func (t transport) CloseIdleConnections() {
	if next, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		next.CloseIdleConnections()
	}
}
