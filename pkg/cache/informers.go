package cache

import (
	"context"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/task"
)

// Sources are where the objects come from that tasks and volumes are made of.
type Sources struct {
	Jobs   listwatch.Source[*batchv1.Job]
	Pods   listwatch.Source[*corev1.Pod]
	Claims listwatch.Source[*corev1.PersistentVolumeClaim]
}

// SourcesIn returns those of a namespace, by a typed client.
func SourcesIn(namespace string, k8s kubernetes.Interface) Sources {
	jobs, pods, claims := k8s.BatchV1().Jobs(namespace), k8s.CoreV1().Pods(namespace), k8s.CoreV1().PersistentVolumeClaims(namespace)
	return Sources{
		listwatch.SourceOf[*batchv1.Job](jobs.List, jobs.Watch),
		listwatch.SourceOf[*corev1.Pod](pods.List, pods.Watch),
		listwatch.SourceOf[*corev1.PersistentVolumeClaim](claims.List, claims.Watch),
	}
}

// Watch returns the informers that bring into the store what the cluster
// shows of one namespace: our Jobs, their pods, and all claims, since a task may
// name any of them.
func (p *Store) Watch(from Sources) *Informers {
	ours := func(options *metav1.ListOptions) { options.LabelSelector = task.LabelTask + "=true" }
	all := &Informers{store: p}
	watchKind(all, "jobs", from.Jobs, ours, p.apiServer.observe,
		reflectorStore[*batchv1.Job, task.Job]{of: convert.JobRecord, put: p.putJob, drop: func(j *task.Job) { p.dropJob(j.TaskID, j.Name) }, name: jobName, all: p.allJobs})
	watchKind(all, "pods", from.Pods, ours, p.apiServer.observe,
		reflectorStore[*corev1.Pod, convert.Pod]{of: convert.PodRecord, put: p.putObservedPod, drop: func(x *convert.Pod) { p.dropPod(x.TaskID, x.Name) }, name: func(x *convert.Pod) string { return x.Name }, all: p.allPods})
	watchKind(all, "claims", from.Claims, func(*metav1.ListOptions) {}, p.apiServer.observe,
		reflectorStore[*corev1.PersistentVolumeClaim, task.Claim]{of: convert.ClaimRecord, put: p.putClaim, drop: func(c *task.Claim) { p.dropClaim(c.Name, c.VolumeID) }, name: func(c *task.Claim) string { return c.Name }, all: p.allClaims})
	return all
}

// Informers bring what the cluster shows into a store.
type Informers struct {
	store     *Store
	informers []informer
	metrics   []*watchMetrics
}

// Run watches until ctx ends.
func (i *Informers) Run(ctx context.Context) error {
	done := make(chan struct{})
	for _, informer := range i.informers {
		go func() {
			informer.run(ctx)
			done <- struct{}{}
		}()
	}
	for range i.informers {
		<-done
	}
	return ctx.Err()
}

// Synced waits until all that the cluster held at first is in the store.
func (i *Informers) Synced(ctx context.Context) error {
	for _, informer := range i.informers {
		select {
		case <-informer.synced:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
