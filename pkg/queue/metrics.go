package queue

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
)

// counters count the entries and messages that this pod wrote and read.
type counters struct {
	entries, commands, rejected atomic.Uint64 // written entries and commands, and rejected entries
	foreign                     atomic.Uint64 // messages of the log that are not entries
}

// countEntry counts one entry with its number of commands, or one rejected entry.
func (f *counters) countEntry(commands int, rejected error) {
	if rejected != nil {
		f.rejected.Add(1)
		return
	}
	f.entries.Add(1)
	f.commands.Add(uint64(commands)) //nolint:gosec // a length
}

var (
	entriesDesc   = prometheus.NewDesc("k8s_cli_log_entries_written_total", "Entries that this pod stored in the log.", nil, nil)
	commandsDesc  = prometheus.NewDesc("k8s_cli_log_commands_written_total", "Commands and facts in the entries that this pod stored in the log.", nil, nil)
	rejectedDesc  = prometheus.NewDesc("k8s_cli_log_entries_rejected_total", "Entries that the log rejected.", nil, nil)
	foreignDesc   = prometheus.NewDesc("k8s_cli_log_foreign_messages_total", "Messages of the log that this pod ignored because they are not entries.", nil, nil)
	bytesDesc     = prometheus.NewDesc("k8s_cli_log_size_bytes", "Size of the log.", nil, nil)
	limitDesc     = prometheus.NewDesc("k8s_cli_log_size_limit_bytes", "Size at which the log is full; 0 if the stream has no limit.", nil, nil)
	acceptingDesc = prometheus.NewDesc("k8s_cli_log_accepting_writes", "1 while the log accepts new submissions, else 0.", nil, nil)
	lagDesc       = prometheus.NewDesc("k8s_cli_log_lag_seconds", "Seconds for which NATS has not confirmed where the log ends; 0 while it confirms.", nil, nil)
	eventLagDesc  = prometheus.NewDesc("k8s_cli_events_lag_entries", "Entries of the log whose events are not published yet, on the pod that publishes; else 0.", nil, nil)
)

// Metrics returns the collector of the metrics of the log.
func (l *Log) Metrics() prometheus.Collector { return logMetrics{l} }

type logMetrics struct{ *Log }

// Describe implements prometheus.Collector.
func (m logMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{entriesDesc, commandsDesc, rejectedDesc, foreignDesc, bytesDesc, limitDesc, acceptingDesc, lagDesc, eventLagDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m logMetrics) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value)
	}
	for d, n := range map[*prometheus.Desc]*atomic.Uint64{
		entriesDesc: &m.counters.entries, commandsDesc: &m.counters.commands, rejectedDesc: &m.counters.rejected, foreignDesc: &m.counters.foreign,
	} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n.Load()))
	}
	gauge(bytesDesc, float64(m.capacity.bytes.Load()))
	gauge(limitDesc, float64(max(0, m.capacity.limit.Load())))
	accepting, late := 1.0, 0.0
	if m.CheckCapacity() != nil {
		accepting = 0
	}
	if age, ok := m.Lag(); !ok {
		late = age.Seconds()
	}
	gauge(acceptingDesc, accepting)
	gauge(lagDesc, late)
	behind := uint64(0)
	if published, at := m.publishedThrough.Load(), m.follower.applied(); published > 0 && at > published {
		behind = at - published
	}
	gauge(eventLagDesc, float64(behind))
}
