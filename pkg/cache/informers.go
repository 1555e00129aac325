package cache

import (
	"context"
	"errors"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"

	"k8s-cli/pkg/task"
)

// Watch returns the informers that bring into the picture what the cluster
// shows of one namespace: our Jobs, their pods, and all claims, since a task may
// name any of them.
func (p *Picture) Watch(k8s kubernetes.Interface, namespace string) *Informers {
	ours := task.LabelTask + "=true"
	jobs, pods, claims := k8s.BatchV1().Jobs(namespace), k8s.CoreV1().Pods(namespace), k8s.CoreV1().PersistentVolumeClaims(namespace)
	all := &Informers{picture: p}
	watchKind(all, "jobs", &batchv1.Job{}, listWatch(p, k8s, ours, jobs.List, jobs.Watch),
		store[*batchv1.Job, task.Job]{of: jobOf, put: p.putJob, drop: func(j *task.Job) { p.dropJob(j.TaskID, j.Name) }, name: jobName, all: p.allJobs})
	watchKind(all, "pods", &corev1.Pod{}, listWatch(p, k8s, ours, pods.List, pods.Watch),
		store[*corev1.Pod, seenPod]{of: seenPodOf, put: p.seePod, drop: func(x *seenPod) { p.dropPod(x.TaskID, x.Name) }, name: func(x *seenPod) string { return x.Name }, all: p.allPods})
	watchKind(all, "claims", &corev1.PersistentVolumeClaim{}, listWatch(p, k8s, "", claims.List, claims.Watch),
		store[*corev1.PersistentVolumeClaim, task.Claim]{of: claimOf, put: p.putClaim, drop: func(c *task.Claim) { p.dropClaim(c.Name, c.VolumeID) }, name: func(c *task.Claim) string { return c.Name }, all: p.allClaims})
	return all
}

// Informers bring what the cluster shows into a picture.
type Informers struct {
	picture   *Picture
	informers []informer
	watched   []*watched
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

// Synced waits until all that the cluster held at first is in the picture.
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

// listWatch reads one kind of object and notes whether the API server answers.
func listWatch[L runtime.Object](p *Picture, k8s kubernetes.Interface, selector string,
	list func(context.Context, metav1.ListOptions) (L, error),
	follow func(context.Context, metav1.ListOptions) (watch.Interface, error),
) toolscache.ListerWatcher {
	return toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.LabelSelector = selector
			objects, err := list(ctx, options)
			p.reach.note(ctx, err)
			return objects, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			options.LabelSelector = selector
			w, err := follow(ctx, options)
			if err == nil && reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()) {
				p.reach.note(ctx, errNoAnswer)
			} else {
				p.reach.note(ctx, err)
			}
			return w, err
		},
	}, k8s)
}

// errNoAnswer is what client-go's rest.Request.Watch keeps to itself: it gives a
// watch of nothing when a connection ends before the answer does.
var errNoAnswer = errors.New("it closes connections without an answer")
