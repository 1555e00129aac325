package cache

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/cache/nodefit"
	"k8s-cli/pkg/task"
)

// Sources list and watch the Kubernetes objects of tasks and volumes.
type Sources struct {
	Jobs   listwatch.Source[*batchv1.Job]
	Pods   listwatch.Source[*corev1.Pod]
	Claims listwatch.Source[*corev1.PersistentVolumeClaim]
}

// SourcesIn returns the sources of a namespace that use a typed client.
func SourcesIn(namespace string, k8s kubernetes.Interface) Sources {
	jobs, pods, claims := k8s.BatchV1().Jobs(namespace), k8s.CoreV1().Pods(namespace), k8s.CoreV1().PersistentVolumeClaims(namespace)
	return Sources{
		listwatch.SourceOf[*batchv1.Job](jobs.List, jobs.Watch),
		listwatch.SourceOf[*corev1.Pod](pods.List, pods.Watch),
		listwatch.SourceOf[*corev1.PersistentVolumeClaim](claims.List, claims.Watch),
	}
}

// Informers put records of Kubernetes objects into a store.
type Informers struct {
	listwatch.Informers
	store *Store
}

// Watch returns the informers of one namespace: the Jobs of tasks, their pods, and all claims,
// because a task may name any claim.
func (s *Store) Watch(from Sources) *Informers {
	ours := func(options *metav1.ListOptions) { options.LabelSelector = task.LabelTask + "=true" }
	all := &Informers{store: s}
	listwatch.Add(&all.Informers, listwatch.Kind[*batchv1.Job, task.Job]{
		Name: "jobs", Source: from.Jobs, Select: ours, Record: convert.JobRecord, Sink: jobSink{s}, OnResponse: s.apiServer.Observe,
	})
	listwatch.Add(&all.Informers, listwatch.Kind[*corev1.Pod, convert.Pod]{
		Name: "pods", Source: from.Pods, Select: ours, Record: convert.PodRecord, Sink: podSink{s}, OnResponse: s.apiServer.Observe,
	})
	listwatch.Add(&all.Informers, listwatch.Kind[*corev1.PersistentVolumeClaim, task.Claim]{
		Name: "claims", Source: from.Claims, Record: convert.ClaimRecord, Sink: claimSink{s}, OnResponse: s.apiServer.Observe,
	})
	return all
}

// OptionalInformers put the nodes of the cluster and Kubernetes events into a store. The store
// uses them to explain why tasks wait. Without the permission to watch them the server works,
// but explains less.
type OptionalInformers struct {
	kinds *listwatch.Optional
	store *Store
}

// WatchNodesAndEvents returns the informers of nodes and events. A nil logger logs nothing.
func (s *Store) WatchNodesAndEvents(k8s kubernetes.Interface, namespace string, logger *slog.Logger) *OptionalInformers {
	return s.watchNodesAndEvents(k8s, namespace, listwatch.NewOptional(logger, 0), s.nodes.MarkSynced)
}

func (s *Store) watchNodesAndEvents(k8s kubernetes.Interface, namespace string, kinds *listwatch.Optional, nodesSynced func()) *OptionalInformers {
	nodes, events := k8s.CoreV1().Nodes(), k8s.CoreV1().Events(namespace)
	listwatch.AddOptional(kinds, listwatch.Kind[*corev1.Node, corev1.Node]{
		Name: "nodes", Source: listwatch.SourceOf[*corev1.Node](nodes.List, nodes.Watch), Record: nodefit.Trim, Sink: s.nodes,
	}, "the capacity of the machines is unknown", nodesSynced)
	for _, about := range [][]string{
		{"Job", "reason=FailedCreate"},
		{"Pod", "type=Warning", "reason!=FailedScheduling", "reason!=BackOff", "reason!=Failed", "reason!=Unhealthy"},
		{"PersistentVolumeClaim"},
	} {
		selector := fields.ParseSelectorOrDie("involvedObject.kind=" + strings.Join(about, ",")).String()
		listwatch.AddOptional(kinds, listwatch.Kind[*corev1.Event, convert.K8sEvent]{
			Name: "events", Source: listwatch.SourceOf[*corev1.Event](events.List, events.Watch),
			Select: func(options *metav1.ListOptions) { options.FieldSelector = selector },
			Record: convert.EventRecord, Sink: k8sEventSink{s, about[0]},
		}, "why pods are rejected, and volumes are not mounted or bound, is unknown", func() {})
	}
	return &OptionalInformers{kinds, s}
}

// Run watches until ctx ends.
func (o *OptionalInformers) Run(ctx context.Context) error {
	var all sync.WaitGroup
	all.Go(func() { _ = o.kinds.Run(ctx) })
	all.Go(func() { o.refreshReasons(ctx) })
	all.Go(func() { o.refreshWaits(ctx) })
	all.Wait()
	return ctx.Err()
}

// refreshInterval is the shortest time between two explanations of the tasks that wait for a
// node, while nodes change.
const refreshInterval = time.Second

// refreshReasons explains the tasks that wait for a node again after the nodes have changed.
func (o *OptionalInformers) refreshReasons(ctx context.Context) {
	for {
		select {
		case <-o.store.nodes.Changed():
		case <-ctx.Done():
			return
		}
		o.store.refreshReasons()
		select {
		case <-time.After(refreshInterval):
		case <-ctx.Done():
			return
		}
	}
}

// refreshWaits explains the tasks that wait for their next attempt again every second.
func (o *OptionalInformers) refreshWaits(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			o.store.refreshWaits()
		case <-ctx.Done():
			return
		}
	}
}
