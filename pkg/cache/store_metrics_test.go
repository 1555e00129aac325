package cache

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"k8s-cli/test/testkit/must"
)

func TestMetrics(t *testing.T) {
	c := submit("ann", "a")
	k8s := fake.NewClientset(clusterJob(c), &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: namespace}})
	p := limited(t, limits(20, 0, 0), c, applied(taskKey("a"), "a/0"), submit("ann", "b"), submitNodes("bob", "c", 2), submit("bob", "d"), stop("bob", "d"), admitted("c"))
	informers := p.watch(k8s)
	must.Succeed(t, informers.Synced(t.Context()))
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(informers.Metrics())
	families, err := registry.Gather()
	must.Succeed(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := strings.TrimPrefix(f.GetName(), "k8s_cli_")
			for _, l := range m.GetLabel() {
				name += " " + l.GetValue()
			}
			if got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue(); got[name] == 0 {
				delete(got, name)
			}
		}
	}
	if age := got["backlog_oldest_age_seconds"]; age < 1 { // since a noon in the past
		t.Errorf("the oldest task waits for %v s", age)
	}
	delete(got, "backlog_oldest_age_seconds")
	want := map[string]float64{
		"tasks pending": 3, "tasks stopped": 1, "command_log_applied_sequence": 7,
		"active_jobs": 3, "active_jobs_limit": 20,
		"backlog_unadmitted_tasks": 1, "backlog_tasks": 2, "backlog_users": 2,
		"informer_objects claims": 1, "informer_objects jobs": 1,
		"informer_events_total claims added": 1, "informer_events_total jobs added": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
