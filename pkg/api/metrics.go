package api

import (
	"net/http"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"

	"k8s-cli/pkg/api/slots"
)

// buckets holds the upper bounds of the histogram of durations, in seconds.
var buckets = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// codes lists the status codes with a counter of their own. All other codes count as 0.
var codes = [...]int{0, 200, 204, 206, 304, 400, 401, 403, 404, 405, 409, 410, 413, 415, 416, 421, 422, 429, 431, 500, 502, 503, 504}

// A routeMetrics counts the requests of one route. All fields are atomic counters, so that
// a request costs only a few additions.
type routeMetrics struct {
	method, route string
	codes         [len(codes)]atomic.Uint64
	buckets       [len(buckets) + 1]atomic.Uint64
	nanoseconds   atomic.Int64
}

func (m *routeMetrics) add(code int, took time.Duration) {
	m.codes[max(slices.Index(codes[:], code), 0)].Add(1)
	seconds := took.Seconds()
	bucket := 0
	for bucket < len(buckets) && seconds > buckets[bucket] {
		bucket++
	}
	m.buckets[bucket].Add(1)
	m.nanoseconds.Add(int64(took))
}

// serverMetrics contains the metrics of all routes and implements prometheus.Collector.
type serverMetrics struct {
	routes map[*fiber.Route]*routeMetrics
	all    []*routeMetrics
	other  routeMetrics // requests without a route, and requests that middleware rejected

	logs, events atomic.Int64 // number of open streams
	slots        *slotPools
}

// measure creates the metrics of each route that register adds to the app.
func (m *serverMetrics) measure(app *fiber.App, register func()) {
	before := map[*fiber.Route]bool{}
	for _, routes := range app.Stack() {
		for _, r := range routes {
			before[r] = true
		}
	}
	register()
	m.routes, m.other.route = map[*fiber.Route]*routeMetrics{}, "other"
	for _, routes := range app.Stack() {
		for _, r := range routes {
			if !before[r] {
				one := &routeMetrics{method: r.Method, route: r.Path}
				m.routes[r] = one
				m.all = append(m.all, one)
			}
		}
	}
	m.all = append(m.all, &m.other)
}

// observe counts a request by its route. The duration of a stream is the time until the
// stream begins.
func (m *serverMetrics) observe(c *fiber.Ctx) error {
	began := time.Now()
	err := c.Next()
	code := c.Response().StatusCode()
	if err != nil {
		code = statusCode(err)
	}
	one := m.routes[c.Route()]
	if one == nil {
		one = &m.other
	}
	one.add(code, time.Since(began))
	return err
}

var (
	requestsDesc  = prometheus.NewDesc("k8s_cli_http_requests_total", "HTTP requests by method, route and status code.", []string{"method", "route", "code"}, nil)
	durationsDesc = prometheus.NewDesc("k8s_cli_http_request_duration_seconds", "Duration of HTTP requests; for streams, the time until the stream begins.", []string{"method", "route"}, nil)
	streamsDesc   = prometheus.NewDesc("k8s_cli_http_streams", "Open log and event streams.", []string{"kind"}, nil)
)

// Describe implements prometheus.Collector.
func (m *serverMetrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- requestsDesc
	ch <- durationsDesc
	ch <- streamsDesc
	slots.Metrics{}.Describe(ch)
}

// Collect implements prometheus.Collector. Routes without requests have no metrics.
func (m *serverMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, one := range m.all {
		one.collect(ch)
	}
	m.slots.all().Collect(ch)
	for kind, open := range map[string]*atomic.Int64{"logs": &m.logs, "events": &m.events} {
		ch <- prometheus.MustNewConstMetric(streamsDesc, prometheus.GaugeValue, float64(open.Load()), kind)
	}
}

func (m *routeMetrics) collect(ch chan<- prometheus.Metric) {
	for i := range m.codes {
		if n := m.codes[i].Load(); n > 0 {
			ch <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(n), m.method, m.route, strconv.Itoa(codes[i]))
		}
	}
	seconds := float64(m.nanoseconds.Load()) / 1e9
	upTo, total := map[float64]uint64{}, uint64(0)
	for i := range m.buckets {
		total += m.buckets[i].Load()
		if i < len(buckets) {
			upTo[buckets[i]] = total
		}
	}
	if total > 0 {
		ch <- prometheus.MustNewConstHistogram(durationsDesc, total, seconds, upTo, m.method, m.route)
	}
}

// opened counts an open stream until the caller calls closed.
func opened(open *atomic.Int64) (closed func()) {
	open.Add(1)
	return func() { open.Add(-1) }
}

// Metrics returns the metrics of this server.
func (s *Server) Metrics() prometheus.Collector { return &s.metricsByRoute }

// exposition returns the handler of GET /metrics. If all is nil, the handler responds 404
// Not Found.
func exposition(all http.Handler) fiber.Handler {
	if all == nil {
		return func(*fiber.Ctx) error { return fiber.ErrNotFound }
	}
	return adaptor.HTTPHandler(all)
}
