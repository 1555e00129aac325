package listwatch

import (
	"context"
	"errors"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"
)

// An informer of client-go keeps every object by its key and a queue of changes
// before it. The store holds all that it needs of the objects itself. So only the
// half of an informer that lists and watches is used, and each object goes into the
// sink at once.

// A Sink takes the records of one kind of object. One goroutine calls it.
type Sink[T any] interface {
	Put(*T)
	Drop(*T)
	All() []*T     // all records that were put and not dropped
	Key(*T) string // the same for an object that was put before
}

// A Kind is one kind of object to list and watch.
type Kind[O runtime.Object, T any] struct {
	Name   string
	Source Source[O]
	Select func(*metav1.ListOptions) // chooses the objects; nil means all
	Record func(O) *T                // nil for an object that is not wanted
	Sink   Sink[T]
	Heard  func(context.Context, error) // is called with each answer of the API server; may be nil
}

func (k Kind[O, T]) withDefaults() Kind[O, T] {
	if k.Select == nil {
		k.Select = func(*metav1.ListOptions) {}
	}
	if k.Heard == nil {
		k.Heard = func(context.Context, error) {}
	}
	return k
}

// Add adds an informer for one kind of object. It turns an object into a record as
// soon as the object is read.
func Add[O runtime.Object, T any](all *Informers, k Kind[O, T]) {
	k = k.withDefaults()
	pages := &listing{toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.ResourceVersion, options.ResourceVersionMatch = "", "" // as it is now
			k.Select(&options)
			p, err := &page{}, error(nil)
			p.ListMeta, err = k.Source.List(ctx, options, func(o O) { p.Items = append(p.Items, &recordObject[T]{value: k.Record(o)}) })
			k.Heard(ctx, err)
			return p, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			k.Select(&options)
			w, err := k.Source.Watch(ctx, options)
			k.Heard(ctx, checkAnswer(w, err))
			return w, err
		},
	}}
	s := newReflectorStore(k)
	reflector := toolscache.NewReflectorWithOptions(pages, *new(O), s, toolscache.ReflectorOptions{Name: k.Name, TypeDescription: k.Name})
	reflector.WatchListPageSize = pageSize
	all.counters = append(all.counters, s.counter)
	all.informers = append(all.informers, informer{reflector.RunWithContext, s.synced})
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
	record  func(O) *T
	sink    Sink[T]
	counter *Counter
	synced  chan struct{}
	listed  bool
}

func newReflectorStore[O runtime.Object, T any](k Kind[O, T]) *reflectorStore[O, T] {
	return &reflectorStore[O, T]{record: k.Record, sink: k.Sink, counter: &Counter{Kind: k.Name}, synced: make(chan struct{})}
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
		return s.record(o)
	case *recordObject[T]:
		return o.value
	}
	return nil
}

// Add is called for an object that is new.
func (s *reflectorStore[O, T]) Add(obj any) error {
	if v := s.value(obj); v != nil {
		s.counter.Added.Add(1)
		s.sink.Put(v)
	}
	return nil
}

// Update is called for an object that has changed.
func (s *reflectorStore[O, T]) Update(obj any) error {
	if v := s.value(obj); v != nil {
		s.counter.Updated.Add(1)
		s.sink.Put(v)
	}
	return nil
}

// Delete is called for an object that is gone, with the last that is known of it.
func (s *reflectorStore[O, T]) Delete(obj any) error {
	if v := s.value(obj); v != nil {
		s.counter.Deleted.Add(1)
		s.sink.Drop(v)
	}
	return nil
}

// Replace is called with all objects that there are. What is in the store and
// not among them is gone: a watch may have missed that.
func (s *reflectorStore[O, T]) Replace(objects []any, _ string) error {
	before := map[string]*T{}
	for _, v := range s.sink.All() {
		before[s.sink.Key(v)] = v
	}
	for _, obj := range objects {
		v := s.value(obj)
		if v == nil {
			continue
		}
		if _, known := before[s.sink.Key(v)]; known {
			s.counter.Updated.Add(1)
		} else {
			s.counter.Added.Add(1)
		}
		delete(before, s.sink.Key(v))
		s.sink.Put(v)
	}
	for _, v := range before {
		s.counter.Deleted.Add(1)
		s.sink.Drop(v)
	}
	if !s.listed {
		s.listed = true
		close(s.synced)
	}
	return nil
}

// Resync is of no use here: the reflector asks for none.
func (s *reflectorStore[O, T]) Resync() error { return nil }
