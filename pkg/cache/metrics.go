package cache

import (
	"sort"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"k8s-cli/pkg/task"
)

// phaseCount is how many tasks there are of each phase.
type phaseCount map[task.Phase]int

// count notes the phase of an item; "" means that it has none any more.
func (p *Store) count(i *taskItem, phase task.Phase) {
	if i.phase == phase {
		return
	}
	p.phases[i.phase]--
	p.phases[phase]++
	i.phase = phase
}

// users returns how many users have a task in the backlog.
func (b *fairQueue) users() int {
	creating := map[string]bool{}
	for _, i := range b.creating {
		if user := i.record.User(); len(b.userQueues[user]) == 0 {
			creating[user] = true
		}
	}
	return len(b.userQueues) + len(creating)
}

// oldest returns since when the task waits that waits longest for its Jobs, those
// aside that wait for a limit; ok is false if none does. An admitted task waits
// since its admission. In a line, tasks of one priority are in their order.
func (p *Store) oldest() (at time.Time, ok bool) {
	earlier := func(t time.Time) {
		if !ok || t.Before(at) {
			at, ok = t, true
		}
	}
	for _, i := range p.backlog.creating {
		earlier(i.record.UpdatedAt())
	}
	if p.exceedsTotal() {
		return at, ok
	}
	for user, line := range p.backlog.userQueues {
		for i := 0; i < len(line) && !p.isHeldBack(user) && !p.exceedsPerUser(user); {
			earlier(line[i].record.CreatedAt)
			priority := line[i].priority
			i += sort.Search(len(line)-i, func(n int) bool { return line[i+n].priority < priority })
		}
	}
	return at, ok
}

var (
	tasksDesc      = prometheus.NewDesc("k8s_cli_tasks", "Tasks by phase, including the finished tasks of the history.", []string{"phase"}, nil)
	activeJobsDesc = prometheus.NewDesc("k8s_cli_active_jobs", "Jobs that may exist: the Jobs of admitted tasks, including retained finished Jobs.", nil, nil)
	maxJobsDesc    = prometheus.NewDesc("k8s_cli_active_jobs_limit", "Limit of Jobs (--max-active-jobs); 0 means no limit.", nil, nil)
	waitingDesc    = prometheus.NewDesc("k8s_cli_admission_waiting_tasks", "Tasks that wait for admission.", nil, nil)
	backlogDesc    = prometheus.NewDesc("k8s_cli_backlog_tasks", "Tasks whose Jobs are not created yet.", nil, nil)
	backlogUsers   = prometheus.NewDesc("k8s_cli_backlog_users", "Users with tasks in the backlog.", nil, nil)
	backlogAge     = prometheus.NewDesc("k8s_cli_backlog_oldest_age_seconds", "Age of the oldest task in the backlog that no limit holds back; 0 without such a task.", nil, nil)
	foldedDesc     = prometheus.NewDesc("k8s_cli_log_applied_sequence", "Sequence of the last entry of the log that this pod applied.", nil, nil)
	clusterLagDesc = prometheus.NewDesc("k8s_cli_cluster_lag_seconds", "How long the API server has not answered the watches; 0 while it answers.", nil, nil)
	watchDesc      = prometheus.NewDesc("k8s_cli_informer_events_total", "Changes that watches delivered, by kind of object.", []string{"kind", "type"}, nil)
	objectsDesc    = prometheus.NewDesc("k8s_cli_informer_objects", "Objects that the informers hold.", []string{"kind"}, nil)
)

// Metrics returns what is counted of the store and of what these informers
// bring into it.
func (i *Informers) Metrics() prometheus.Collector { return informerMetrics{i} }

type informerMetrics struct{ *Informers }

// Describe is called by the registry.
func (m informerMetrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{tasksDesc, activeJobsDesc, maxJobsDesc, waitingDesc, backlogDesc, backlogUsers, backlogAge, foldedDesc, clusterLagDesc, watchDesc, objectsDesc} {
		ch <- d
	}
}

// Collect is called by the registry.
func (m informerMetrics) Collect(ch chan<- prometheus.Metric) {
	p := m.store
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	p.mu.RLock()
	tasks := map[task.Phase]int{}
	for _, phase := range []task.Phase{task.Pending, task.Running, task.Completed, task.Failed, task.Stopped} {
		tasks[phase] = p.phases[phase]
	}
	size, users, seq := p.backlog.length(), p.backlog.users(), p.state.Seq
	jobs, waiting, limits := p.state.Jobs(), p.backlog.size, p.limits
	oldest, waits := p.oldest()
	p.mu.RUnlock()
	for phase, n := range tasks {
		gauge(tasksDesc, float64(n), string(phase))
	}
	age := 0.0
	if waits {
		age = max(0, time.Since(oldest).Seconds())
	}
	lag, _ := p.ClusterLag()
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
