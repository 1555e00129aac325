package events

import "github.com/prometheus/client_golang/prometheus"

var (
	publishedDesc = prometheus.NewDesc("k8s_cli_events_published_total", "Task and volume events that this pod published for subscribers.", nil, nil)
	failuresDesc  = prometheus.NewDesc("k8s_cli_event_publish_failures_total", "Failed attempts to publish task and volume events; each attempt is retried.", nil, nil)
)

// Metrics returns the collector of the metrics of published events.
func (s *Stream) Metrics() prometheus.Collector { return metrics{s} }

type metrics struct{ stream *Stream }

// Describe implements prometheus.Collector.
func (m metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- publishedDesc
	ch <- failuresDesc
}

// Collect implements prometheus.Collector.
func (m metrics) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.MustNewConstMetric(publishedDesc, prometheus.CounterValue, float64(m.stream.published.Load()))
	ch <- prometheus.MustNewConstMetric(failuresDesc, prometheus.CounterValue, float64(m.stream.failures.Load()))
}
