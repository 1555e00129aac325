package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/tools/metrics"

	"k8s-cli/pkg/trace"
)

// register adds the metrics of the server and of the Go runtime to a registry.
func register(r *prometheus.Registry, parts ...prometheus.Collector) error {
	parts = append(parts, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), collectors.NewBuildInfoCollector())
	var failed error
	for _, p := range parts {
		failed = errors.Join(failed, r.Register(p))
	}
	if failed != nil {
		return fmt.Errorf("register metrics: %w", failed)
	}
	return nil
}

func metricsHandler(r *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{DisableCompression: true}) // the HTTP server compresses
}

var (
	readyDesc   = prometheus.NewDesc("k8s_cli_ready", "1 while this pod can answer reads, else 0.", nil, nil)
	leadingDesc = prometheus.NewDesc("k8s_cli_leader", "1 on the leader, the pod whose controller runs; else 0.", nil, nil)
)

// Describe implements prometheus.Collector.
func (h *health) Describe(ch chan<- *prometheus.Desc) {
	ch <- readyDesc
	ch <- leadingDesc
}

// Collect implements prometheus.Collector.
func (h *health) Collect(ch chan<- prometheus.Metric) {
	for d, holds := range map[*prometheus.Desc]bool{readyDesc: h.Ready(), leadingDesc: h.leads.Load()} {
		value := 0.0
		if holds {
			value = 1
		}
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
}

// clientMetrics counts and times the requests to the API server. client-go has one global
// registration for such metrics in a process.
type clientMetrics struct {
	requests  *prometheus.CounterVec
	durations *prometheus.HistogramVec
}

func newKubernetesMetrics() *clientMetrics {
	k := &clientMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "k8s_cli_kubernetes_requests_total", Help: "Requests to the Kubernetes API server by status code; code <error> means no response.",
		}, []string{"method", "code"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "k8s_cli_kubernetes_request_duration_seconds", Help: "Duration of requests to the Kubernetes API server.",
			Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30},
		}, []string{"method"}),
	}
	metrics.Register(metrics.RegisterOpts{RequestResult: k, RequestLatency: k})
	return k
}

// Increment counts one request. client-go calls Increment.
func (m *clientMetrics) Increment(_ context.Context, code, method, _ string) {
	m.requests.WithLabelValues(method, code).Inc()
}

// Observe records the duration of one request. client-go calls Observe.
func (m *clientMetrics) Observe(_ context.Context, method string, _ url.URL, took time.Duration) {
	m.durations.WithLabelValues(method).Observe(took.Seconds())
}

// Describe implements prometheus.Collector.
func (m *clientMetrics) Describe(ch chan<- *prometheus.Desc) {
	m.requests.Describe(ch)
	m.durations.Describe(ch)
}

// Collect implements prometheus.Collector.
func (m *clientMetrics) Collect(ch chan<- prometheus.Metric) {
	m.requests.Collect(ch)
	m.durations.Collect(ch)
}

const tracesTimeout = 2 * time.Second // to export the last spans

func endTraces(t *trace.Tracer) {
	ctx, cancel := context.WithTimeout(context.Background(), tracesTimeout)
	defer cancel()
	_ = t.Close(ctx) // the tracer has logged the error
}

const adminHeadTimeout = 10 * time.Second // to read the header of a request

// serveAdmin serves metrics and profiles of the process on listener until ctx ends.
func serveAdmin(ctx context.Context, listener net.Listener, answers http.Handler) error {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", answers)
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: adminHeadTimeout}
	defer context.AfterFunc(ctx, func() { _ = s.Close() })()
	if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve operators on %s: %w", listener.Addr(), err)
	}
	return ctx.Err()
}

// listenAdmin returns the listener for --admin-listen, or nil if address is empty.
func listenAdmin(address string) (net.Listener, error) {
	if address == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("serve operators: %w; choose another --admin-listen", err)
	}
	return listener, nil
}
