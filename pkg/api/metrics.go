package api

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/middleware/adaptor"
	"github.com/prometheus/client_golang/prometheus"

	"k8s-cli/pkg/api/slots"
)

// serverMetrics contains the metrics of all routes and implements prometheus.Collector.
type serverMetrics struct {
	routes map[*fiber.Route]*routeMetrics
	all    []*routeMetrics
	other  *routeMetrics // requests without a route, and requests that middleware rejected

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
	m.routes, m.other = map[*fiber.Route]*routeMetrics{}, &routeMetrics{Path: "other"}
	for _, routes := range app.Stack() {
		for _, r := range routes {
			if !before[r] {
				one := &routeMetrics{Method: r.Method, Path: r.Path}
				m.routes[r] = one
				m.all = append(m.all, one)
			}
		}
	}
	m.all = append(m.all, m.other)
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
		one = m.other
	}
	one.add(code, time.Since(began))
	return err
}

var streamsDesc = prometheus.NewDesc("k8s_cli_http_streams", "Open log and event streams.", []string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (m *serverMetrics) Describe(ch chan<- *prometheus.Desc) {
	describeRoutes(ch)
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
