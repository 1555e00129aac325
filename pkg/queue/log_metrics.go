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
func (c *counters) countEntry(commands int, rejected error) {
	if rejected != nil {
		c.rejected.Add(1)
		return
	}
	c.entries.Add(1)
	c.commands.Add(uint64(commands)) //nolint:gosec // a length
}

var (
	entriesDesc   = prometheus.NewDesc("k8s_cli_command_log_entries_written_total", "Entries that this pod wrote to the command log. One entry can hold many commands.", nil, nil)
	commandsDesc  = prometheus.NewDesc("k8s_cli_command_log_commands_written_total", "Commands and facts that this pod wrote to the command log.", nil, nil)
	rejectedDesc  = prometheus.NewDesc("k8s_cli_command_log_entries_rejected_total", "Entries of this pod that NATS did not accept in the command log.", nil, nil)
	foreignDesc   = prometheus.NewDesc("k8s_cli_command_log_foreign_messages_total", "Messages in the command log that this pod ignored, because another program published them.", nil, nil)
	bytesDesc     = prometheus.NewDesc("k8s_cli_command_log_size_bytes", "Size of the command log in NATS.", nil, nil)
	limitDesc     = prometheus.NewDesc("k8s_cli_command_log_size_limit_bytes", "Size limit of the command log; 0 if its stream has no limit of its own.", nil, nil)
	acceptingDesc = prometheus.NewDesc("k8s_cli_command_log_accepting_writes", "1 while the command log has room for submissions, else 0.", nil, nil)
	lagDesc       = prometheus.NewDesc("k8s_cli_command_log_staleness_seconds", "How old reads may be: seconds since NATS last confirmed the end of the command log; 0 while NATS confirms it.", nil, nil)
	eventLagDesc  = prometheus.NewDesc("k8s_cli_event_publish_lag_entries", "Entries of the command log whose events the leader has not published yet; 0 on other pods.", nil, nil)
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
