package notify

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// counters count the notifications that this pod sent.
type counters struct{ delivered, failed, gone, expired atomic.Uint64 }

var (
	sentDesc      = prometheus.NewDesc("k8s_cli_notifications_total", "Attempts of this pod to send a notification, by result: delivered; failed, which the server retries; gone, the receiver wants no more; expired, given up.", []string{"result"}, nil)
	receiversDesc = prometheus.NewDesc("k8s_cli_notification_receivers", "Receivers with undelivered notifications, by state: failing if the last attempt failed; 0 on pods that do not lead.", []string{"state"}, nil)
	oldestDesc    = prometheus.NewDesc("k8s_cli_notification_oldest_seconds", "Age of the oldest event that a receiver failed to accept; 0 if there is none.", nil, nil)
)

// Metrics returns the collector of the metrics of notifications.
func (n *Notifier) Metrics() prometheus.Collector { return metrics{n} }

type metrics struct{ *Notifier }

// Describe implements prometheus.Collector.
func (m metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{sentDesc, receiversDesc, oldestDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m metrics) Collect(ch chan<- prometheus.Metric) {
	c := &m.counters
	for result, n := range map[string]*atomic.Uint64{"delivered": &c.delivered, "failed": &c.failed, "gone": &c.gone, "expired": &c.expired} {
		ch <- prometheus.MustNewConstMetric(sentDesc, prometheus.CounterValue, float64(n.Load()), result)
	}
	receivers, failing, oldest := 0, 0, 0.0
	if r := m.run.Load(); r != nil {
		receivers, failing = r.count()
		if at := r.oldest(); !at.IsZero() {
			oldest = time.Since(at).Seconds()
		}
	}
	ch <- prometheus.MustNewConstMetric(receiversDesc, prometheus.GaugeValue, float64(receivers-failing), "sending")
	ch <- prometheus.MustNewConstMetric(receiversDesc, prometheus.GaugeValue, float64(failing), "failing")
	ch <- prometheus.MustNewConstMetric(oldestDesc, prometheus.GaugeValue, oldest)
}
