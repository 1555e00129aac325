package cache

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s-cli/pkg/task"
)

var (
	tasksDesc      = prometheus.NewDesc("k8s_cli_tasks", "Tasks by phase, including the ended tasks in the history.", []string{"phase"}, nil)
	activeJobsDesc = prometheus.NewDesc("k8s_cli_active_jobs", "Jobs that count towards --max-active-jobs: one for each node of an admitted task, including finished Jobs that are retained.", nil, nil)
	maxJobsDesc    = prometheus.NewDesc("k8s_cli_active_jobs_limit", "Value of --max-active-jobs; 0 means no limit.", nil, nil)
	waitingDesc    = prometheus.NewDesc("k8s_cli_backlog_unadmitted_tasks", "Tasks in the backlog that are not admitted: a limit of Jobs keeps the controller from creating their Jobs.", nil, nil)
	backlogDesc    = prometheus.NewDesc("k8s_cli_backlog_tasks", "Tasks whose Jobs do not exist yet, without the tasks that a failed attempt to create the Jobs has blocked.", nil, nil)
	backlogUsers   = prometheus.NewDesc("k8s_cli_backlog_users", "Users who have tasks in the backlog.", nil, nil)
	backlogAge     = prometheus.NewDesc("k8s_cli_backlog_oldest_age_seconds", "How long the oldest admitted task in the backlog has waited for its Jobs; 0 without such a task.", nil, nil)
	foldedDesc     = prometheus.NewDesc("k8s_cli_command_log_applied_sequence", "Sequence of the last entry of the command log that this pod has applied to its state.", nil, nil)
	clusterLagDesc = prometheus.NewDesc("k8s_cli_cluster_staleness_seconds", "How old the data about the cluster is: seconds since the Kubernetes API server stopped responding to watches; 0 while it responds.", nil, nil)
	watchDesc      = prometheus.NewDesc("k8s_cli_informer_events_total", "Changes of Kubernetes objects that the informers received, by kind of object and type of change.", []string{"kind", "type"}, nil)
	objectsDesc    = prometheus.NewDesc("k8s_cli_informer_objects", "Kubernetes objects in the informer caches, by kind.", []string{"kind"}, nil)
)

// Metrics returns the collector of the metrics of the store and of its informers.
func (i *Informers) Metrics() prometheus.Collector { return informerMetrics{i} }

type informerMetrics struct{ *Informers }

// Describe implements prometheus.Collector.
func (m informerMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{tasksDesc, activeJobsDesc, maxJobsDesc, waitingDesc, backlogDesc, backlogUsers, backlogAge, foldedDesc, clusterLagDesc, watchDesc, objectsDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m informerMetrics) Collect(ch chan<- prometheus.Metric) {
	s := m.store
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	s.mu.RLock()
	tasks := map[task.Phase]int{}
	for _, phase := range []task.Phase{task.Pending, task.Running, task.Completed, task.Failed, task.Stopped} {
		tasks[phase] = s.index.all.counts.OfPhase(phase)
	}
	size, users, seq := s.admission.queue.length(), s.admission.queue.users(), s.state.Seq
	jobs, waiting, limits := s.state.Jobs(), s.admission.queue.size, s.admission.limits
	oldest, waits := s.admission.oldest()
	s.mu.RUnlock()
	for phase, n := range tasks {
		gauge(tasksDesc, float64(n), string(phase))
	}
	age := 0.0
	if waits {
		age = max(0, time.Since(oldest).Seconds())
	}
	lag, _ := s.ClusterLag()
	gauge(activeJobsDesc, float64(jobs))
	gauge(maxJobsDesc, float64(limits.Total))
	gauge(waitingDesc, float64(waiting))
	gauge(backlogDesc, float64(size))
	gauge(backlogUsers, float64(users))
	gauge(backlogAge, age)
	gauge(foldedDesc, float64(seq))
	gauge(clusterLagDesc, lag.Seconds())
	for _, w := range m.Counters() {
		for kind, n := range map[string]*atomic.Uint64{"added": &w.Added, "updated": &w.Updated, "deleted": &w.Deleted} {
			ch <- prometheus.MustNewConstMetric(watchDesc, prometheus.CounterValue, float64(n.Load()), w.Kind, kind)
		}
		gauge(objectsDesc, float64(w.Added.Load())-float64(w.Deleted.Load()), w.Kind)
	}
}
