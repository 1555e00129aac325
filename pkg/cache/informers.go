package cache

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"

	"k8s-cli/pkg/task"
)

// Watch returns the informers that bring into the picture what the cluster
// shows of one namespace: our Jobs, their pods, and all claims, since a task may
// name any of them.
func (p *Picture) Watch(k8s kubernetes.Interface, namespace string) (*Informers, error) {
	ours := task.LabelTask + "=true"
	jobs, pods, claims := k8s.BatchV1().Jobs(namespace), k8s.CoreV1().Pods(namespace), k8s.CoreV1().PersistentVolumeClaims(namespace)
	all := &Informers{picture: p}
	return all, first(
		watchKind(all, "jobs", &batchv1.Job{}, listWatch(p, k8s, ours, jobs.List, jobs.Watch),
			jobOf, p.putJob, func(j *task.Job) { p.dropJob(j.TaskID, j.Name) }),
		watchKind(all, "pods", &corev1.Pod{}, listWatch(p, k8s, ours, pods.List, pods.Watch),
			seenPodOf, p.seePod, func(x *seenPod) { p.dropPod(x.TaskID, x.Name) }),
		watchKind(all, "claims", &corev1.PersistentVolumeClaim{}, listWatch(p, k8s, "", claims.List, claims.Watch),
			claimOf, p.putClaim, func(c *task.Claim) { p.dropClaim(c.Name, c.VolumeID) }),
	)
}

// Informers bring what the cluster shows into a picture.
type Informers struct {
	picture   *Picture
	informers []toolscache.SharedIndexInformer
	synced    []toolscache.InformerSynced
	watched   []*watched
}

// Run watches until ctx ends.
func (i *Informers) Run(ctx context.Context) error {
	done := make(chan struct{})
	for _, informer := range i.informers {
		go func() {
			informer.RunWithContext(ctx)
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
	if !toolscache.WaitForCacheSync(ctx.Done(), i.synced...) {
		return ctx.Err()
	}
	return nil
}

// record is what an informer stores in place of an object: ours, with the
// little that client-go needs to know of any object.
type record[T any] struct {
	namespace, name, version string
	uid                      types.UID
	value                    *T
}

// GetObjectMeta lets client-go find name and version.
func (r *record[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: r.namespace, Name: r.name, UID: r.uid, ResourceVersion: r.version}
}

// watchKind adds an informer for one kind of object, which it turns into a
// record before anything stores it.
func watchKind[O metav1.Object, T any](all *Informers, what string, example runtime.Object, source toolscache.ListerWatcher,
	of func(O) *T, put, drop func(*T),
) error {
	informer := toolscache.NewSharedIndexInformerWithOptions(source, example, toolscache.SharedIndexInformerOptions{
		ObjectDescription: what,
	})
	err := informer.SetTransform(func(obj any) (any, error) {
		if o, ok := obj.(O); ok {
			return &record[T]{o.GetNamespace(), o.GetName(), o.GetResourceVersion(), o.GetUID(), of(o)}, nil
		}
		return obj, nil // transformed before
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	count := &watched{kind: what}
	handler, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { count.added.Add(1); call(put, obj) },
		UpdateFunc: func(_, obj any) { count.updated.Add(1); call(put, obj) },
		DeleteFunc: func(obj any) { count.deleted.Add(1); call(drop, obj) },
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", what, err)
	}
	all.watched = append(all.watched, count)
	all.informers = append(all.informers, informer)
	all.synced = append(all.synced, handler.HasSynced)
	return nil
}

// call passes the value of a record to f. A deletion that the watch missed
// arrives as a tombstone around the last record seen.
func call[T any](f func(*T), obj any) {
	if tombstone, ok := obj.(toolscache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if r, ok := obj.(*record[T]); ok && r.value != nil {
		f(r.value)
	}
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

func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
