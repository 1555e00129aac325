package api

import (
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// buckets holds the upper bounds of the histogram of durations, in seconds.
var buckets = [...]float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}

// codes lists the status codes with a counter of their own. All other codes count as 0.
var codes = [...]int{0, 101, 200, 204, 206, 304, 400, 401, 403, 404, 405, 409, 410, 413, 415, 416, 421, 422, 426, 429, 431, 500, 502, 503, 504}

// A routeMetrics counts the requests of one route. All counters are atomic, so that
// a request costs only a few additions.
type routeMetrics struct {
	Method, Path string

	codes       [len(codes)]atomic.Uint64
	buckets     [len(buckets) + 1]atomic.Uint64
	nanoseconds atomic.Int64
}

// add counts a request.
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

var (
	requestsDesc  = prometheus.NewDesc("k8s_cli_http_requests_total", "HTTP requests by method, route and status code.", []string{"method", "route", "code"}, nil)
	durationsDesc = prometheus.NewDesc("k8s_cli_http_request_duration_seconds", "Duration of HTTP requests; for streams, the time until the stream begins.", []string{"method", "route"}, nil)
)

// describeRoutes sends the descriptions of the metrics of all routes.
func describeRoutes(ch chan<- *prometheus.Desc) {
	ch <- requestsDesc
	ch <- durationsDesc
}

// collect sends the metrics of the route, if the route had requests.
func (m *routeMetrics) collect(ch chan<- prometheus.Metric) {
	for i := range m.codes {
		if n := m.codes[i].Load(); n > 0 {
			ch <- prometheus.MustNewConstMetric(requestsDesc, prometheus.CounterValue, float64(n), m.Method, m.Path, strconv.Itoa(codes[i]))
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
		ch <- prometheus.MustNewConstHistogram(durationsDesc, total, seconds, upTo, m.Method, m.Path)
	}
}
