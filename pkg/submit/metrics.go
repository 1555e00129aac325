package submit

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"k8s-cli/pkg/task"
)

// counters count the work of this controller.
type counters struct {
	tasks, volumes                         atomic.Uint64 // whose Kubernetes objects all exist
	done, requeued, failed, logUnavailable atomic.Uint64 // attempts by result
}

func (c *counters) applied(k task.Key) {
	if k.Kind == task.KindVolume {
		c.volumes.Add(1)
		return
	}
	c.tasks.Add(1)
}

var (
	appliedDesc  = prometheus.NewDesc("k8s_cli_objects_created_total", "Tasks and volumes whose Kubernetes objects this pod has created, by kind.", []string{"kind"}, nil)
	attemptsDesc = prometheus.NewDesc("k8s_cli_reconciles_total", "Attempts of the controller to reconcile a task or volume, by result.", []string{"result"}, nil)
	queuedDesc   = prometheus.NewDesc("k8s_cli_reconcile_queue_depth", "Tasks and volumes that wait to be reconciled; 0 on pods whose controller does not run.", nil, nil)
)

// Metrics returns the collector of the metrics of this controller.
func (c *Controller) Metrics() prometheus.Collector { return controllerMetrics{c} }

type controllerMetrics struct{ *Controller }

// Describe implements prometheus.Collector.
func (m controllerMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{appliedDesc, attemptsDesc, queuedDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m controllerMetrics) Collect(ch chan<- prometheus.Metric) {
	f := &m.counters
	for kind, n := range map[task.Kind]*atomic.Uint64{task.KindTask: &f.tasks, task.KindVolume: &f.volumes} {
		ch <- prometheus.MustNewConstMetric(appliedDesc, prometheus.CounterValue, float64(n.Load()), string(kind))
	}
	for result, n := range map[string]*atomic.Uint64{"done": &f.done, "requeued": &f.requeued, "error": &f.failed, "log_unavailable": &f.logUnavailable} {
		ch <- prometheus.MustNewConstMetric(attemptsDesc, prometheus.CounterValue, float64(n.Load()), result)
	}
	queued := 0
	if q := m.queue.Load(); q != nil {
		queued = (*q).Len()
	}
	ch <- prometheus.MustNewConstMetric(queuedDesc, prometheus.GaugeValue, float64(queued))
}
