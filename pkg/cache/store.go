package cache

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	toolscache "k8s.io/client-go/tools/cache"

	"k8s-cli/pkg/task"
)

// An informer of client-go keeps every object by its key and a queue of changes
// before it. The picture keeps all that is wanted of them itself: so only the half
// of an informer that lists and watches is used, and what it brings goes into the
// picture at once.

// An informer brings one kind of object into the picture.
type informer struct {
	run    func(context.Context)
	synced <-chan struct{} // closed once all there were at first are in the picture
}

// watchKind adds an informer for one kind of object, which it turns into a record
// of ours as soon as it is read.
func watchKind[O metav1.Object, T any](all *Informers, what string, example runtime.Object, source toolscache.ListerWatcher, s store[O, T]) {
	synced := make(chan struct{})
	s.count, s.synced = &watched{kind: what}, synced
	reflector := toolscache.NewReflectorWithOptions(source, example, &s, toolscache.ReflectorOptions{Name: what, TypeDescription: what})
	all.watched = append(all.watched, s.count)
	all.informers = append(all.informers, informer{reflector.RunWithContext, synced})
}

// A store takes what a reflector reads of one kind. One goroutine calls it.
type store[O metav1.Object, T any] struct {
	of        func(O) *T // nil for what is not wanted
	put, drop func(*T)
	name      func(*T) string
	all       func() []*T // in the picture

	count  *watched
	synced chan struct{}
	listed bool
}

// brought is a record of ours on its way, with the little that client-go needs to
// know of any object.
type brought[T any] struct {
	namespace, name, version string
	value                    *T
}

// GetObjectMeta lets client-go find name and version.
func (b *brought[T]) GetObjectMeta() metav1.Object {
	return &metav1.ObjectMeta{Namespace: b.namespace, Name: b.name, ResourceVersion: b.version}
}

// Transformer lets the reflector keep records only while it reads what there is
// at first.
func (s *store[O, T]) Transformer() toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(O); ok {
			return &brought[T]{o.GetNamespace(), o.GetName(), o.GetResourceVersion(), s.of(o)}, nil
		}
		return obj, nil // transformed before
	}
}

// value returns the record of an object, nil if it is not wanted.
func (s *store[O, T]) value(obj any) *T {
	switch o := obj.(type) {
	case O:
		return s.of(o)
	case *brought[T]:
		return o.value
	}
	return nil
}

// Add is called for an object that is new.
func (s *store[O, T]) Add(obj any) error {
	if v := s.value(obj); v != nil {
		s.count.added.Add(1)
		s.put(v)
	}
	return nil
}

// Update is called for an object that has changed.
func (s *store[O, T]) Update(obj any) error {
	if v := s.value(obj); v != nil {
		s.count.updated.Add(1)
		s.put(v)
	}
	return nil
}

// Delete is called for an object that is gone, with the last that is known of it.
func (s *store[O, T]) Delete(obj any) error {
	if v := s.value(obj); v != nil {
		s.count.deleted.Add(1)
		s.drop(v)
	}
	return nil
}

// Replace is called with all objects that there are. What is in the picture and
// not among them is gone: a watch may have missed that.
func (s *store[O, T]) Replace(objects []any, _ string) error {
	before := map[string]*T{}
	for _, v := range s.all() {
		before[s.name(v)] = v
	}
	for _, obj := range objects {
		v := s.value(obj)
		if v == nil {
			continue
		}
		if _, known := before[s.name(v)]; known {
			s.count.updated.Add(1)
		} else {
			s.count.added.Add(1)
		}
		delete(before, s.name(v))
		s.put(v)
	}
	for _, v := range before {
		s.count.deleted.Add(1)
		s.drop(v)
	}
	if !s.listed {
		s.listed = true
		close(s.synced)
	}
	return nil
}

// Resync is of no use here: the reflector asks for none.
func (s *store[O, T]) Resync() error { return nil }

// What the picture has of each kind.

func (p *Picture) allJobs() (all []*task.Job) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, item := range p.tasks {
		all = append(all, item.jobs...)
	}
	return all
}

func (p *Picture) allPods() (all []*seenPod) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, item := range p.tasks {
		for _, pod := range item.pods {
			all = append(all, &seenPod{Pod: pod})
		}
	}
	return all
}

func (p *Picture) allClaims() []*task.Claim {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Collect(maps.Values(p.claims))
}

// allNotices returns those about one kind of object.
func (p *Picture) allNotices(about string) (all []*notice) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, n := range p.notices {
		if n.kind == about {
			all = append(all, n)
		}
	}
	return all
}

func (n *Nodes) list() []*corev1.Node {
	n.mu.RLock()
	defer n.mu.RUnlock()
	return slices.Collect(maps.Values(n.all))
}
