package cache

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/task"
)

// An informer of client-go keeps every object by its key and a queue of changes
// before it. The store keeps all that is wanted of them itself: so only the half
// of an informer that lists and watches is used, and what it brings goes into the
// store at once.

// An informer brings one kind of object into the store.
type informer struct {
	run    func(context.Context)
	synced <-chan struct{} // closed once all there were at first are in the store
}

// watchKind adds an informer for one kind of object, of which it asks for those
// that selected chooses, and which it turns into a record of ours as soon as it is
// read. heard is told of every answer.
func watchKind[O runtime.Object, T any](all *Informers, what string, source listwatch.Source[O], selected func(*metav1.ListOptions), heard func(context.Context, error), s reflectorStore[O, T]) {
	synced := make(chan struct{})
	s.metrics, s.synced = &watchMetrics{kind: what}, synced
	pages := &listing{toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.ResourceVersion, options.ResourceVersionMatch = "", "" // as it is now
			selected(&options)
			p, err := &page{}, error(nil)
			p.ListMeta, err = source.List(ctx, options, func(o O) { p.Items = append(p.Items, &recordObject[T]{value: s.of(o)}) })
			heard(ctx, err)
			return p, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			selected(&options)
			w, err := source.Watch(ctx, options)
			heard(ctx, checkAnswer(w, err))
			return w, err
		},
	}}
	reflector := toolscache.NewReflectorWithOptions(pages, *new(O), &s, toolscache.ReflectorOptions{Name: what, TypeDescription: what})
	reflector.WatchListPageSize = pageSize
	all.metrics = append(all.metrics, s.metrics)
	all.informers = append(all.informers, informer{reflector.RunWithContext, synced})
}

// checkAnswer returns why a watch has not begun. Of a connection that ends before the
// answer does, client-go's rest.Request.Watch makes a watch of nothing.
func checkAnswer(w watch.Interface, err error) error {
	if err == nil && reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()) {
		return errNoAnswer
	}
	return err
}

var errNoAnswer = errors.New("the API server closes connections without an answer")

// pageSize is how many objects the API server is asked for at once, by sources
// that ask for pages.
const pageSize = 500

// A listing is followed by a watch. The other way to begin, a watch that brings
// first what there is, costs both sides a write and a read for each object, and
// twice the time.
type listing struct{ toolscache.ListWatch }

// IsWatchListSemanticsUnSupported is asked by client-go.
func (*listing) IsWatchListSemanticsUnSupported() bool { return true }

// A reflectorStore takes what a reflector reads of one kind. One goroutine calls it.
type reflectorStore[O runtime.Object, T any] struct {
	of        func(O) *T // nil for what is not wanted
	put, drop func(*T)
	name      func(*T) string
	all       func() []*T // in the store

	metrics *watchMetrics
	synced  chan struct{}
	listed  bool
}

// A page is what a reflector gets of a list: records of ours.
type page struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject returns the page, which nobody changes.
func (p *page) DeepCopyObject() runtime.Object { return p }

// recordObject is a record of ours on its way, as client-go wants it.
type recordObject[T any] struct {
	metav1.TypeMeta
	value *T
}

// DeepCopyObject returns the record, which nobody changes.
func (b *recordObject[T]) DeepCopyObject() runtime.Object { return b }

// value returns the record of an object, nil if it is not wanted.
func (s *reflectorStore[O, T]) value(obj any) *T {
	switch o := obj.(type) {
	case O:
		return s.of(o)
	case *recordObject[T]:
		return o.value
	}
	return nil
}

// Add is called for an object that is new.
func (s *reflectorStore[O, T]) Add(obj any) error {
	if v := s.value(obj); v != nil {
		s.metrics.added.Add(1)
		s.put(v)
	}
	return nil
}

// Update is called for an object that has changed.
func (s *reflectorStore[O, T]) Update(obj any) error {
	if v := s.value(obj); v != nil {
		s.metrics.updated.Add(1)
		s.put(v)
	}
	return nil
}

// Delete is called for an object that is gone, with the last that is known of it.
func (s *reflectorStore[O, T]) Delete(obj any) error {
	if v := s.value(obj); v != nil {
		s.metrics.deleted.Add(1)
		s.drop(v)
	}
	return nil
}

// Replace is called with all objects that there are. What is in the store and
// not among them is gone: a watch may have missed that.
func (s *reflectorStore[O, T]) Replace(objects []any, _ string) error {
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
			s.metrics.updated.Add(1)
		} else {
			s.metrics.added.Add(1)
		}
		delete(before, s.name(v))
		s.put(v)
	}
	for _, v := range before {
		s.metrics.deleted.Add(1)
		s.drop(v)
	}
	if !s.listed {
		s.listed = true
		close(s.synced)
	}
	return nil
}

// Resync is of no use here: the reflector asks for none.
func (s *reflectorStore[O, T]) Resync() error { return nil }

// What the store has of each kind.

func (p *Store) allJobs() (all []*task.Job) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, item := range p.tasks {
		all = append(all, item.jobs...)
	}
	return all
}

func (p *Store) allPods() (all []*convert.Pod) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, item := range p.tasks {
		for _, pod := range item.pods {
			all = append(all, &convert.Pod{Pod: pod})
		}
	}
	return all
}

func (p *Store) allClaims() []*task.Claim {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return slices.Collect(maps.Values(p.claims))
}

// allK8sEvents returns those about one kind of object.
func (p *Store) allK8sEvents(about string) (all []*convert.K8sEvent) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, n := range p.k8sEvents {
		if n.Kind == about {
			all = append(all, n)
		}
	}
	return all
}
