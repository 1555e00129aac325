package slots

import "github.com/prometheus/client_golang/prometheus"

// Metrics collects the metrics of pools and implements prometheus.Collector.
type Metrics []*Pool

var (
	inUseDesc   = prometheus.NewDesc("k8s_cli_http_slots_in_use", "Slots in use on this pod. A slot permits one concurrent operation, such as a download or a stream.", []string{"kind"}, nil)
	totalDesc   = prometheus.NewDesc("k8s_cli_http_slots_limit", "Limit of slots on this pod for all users together.", []string{"kind"}, nil)
	waitingDesc = prometheus.NewDesc("k8s_cli_http_slots_waiting_requests", "Requests on this pod that wait for a slot.", []string{"kind"}, nil)
)

// Describe implements prometheus.Collector.
func (m Metrics) Describe(ch chan<- *prometheus.Desc) {
	ch <- inUseDesc
	ch <- totalDesc
	ch <- waitingDesc
}

// Collect implements prometheus.Collector.
func (m Metrics) Collect(ch chan<- prometheus.Metric) {
	for _, one := range m {
		inUse, waiting := one.Count()
		ch <- prometheus.MustNewConstMetric(inUseDesc, prometheus.GaugeValue, float64(inUse), one.kind.Name)
		ch <- prometheus.MustNewConstMetric(totalDesc, prometheus.GaugeValue, float64(one.limit.Total), one.kind.Name)
		ch <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(waiting), one.kind.Name)
	}
}
