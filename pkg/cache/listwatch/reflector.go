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

// An informer of client-go holds every object by its key, and a queue of changes. The store
// needs neither, because it holds records of its own. Therefore only the reflector, the half
// of an informer that lists and watches, is used, and each object goes directly into the sink.

// A Sink receives the records of one kind of object. Only one goroutine calls a Sink.
type Sink[T any] interface {
	Put(*T)
	Drop(*T)
	All() []*T     // all records that were put and not dropped
	Key(*T) string // identifies the object of a record
}

// A Kind is one kind of object to list and watch.
type Kind[O runtime.Object, T any] struct {
	Name       string
	Source     Source[O]
	Select     func(*metav1.ListOptions) // chooses the objects; nil means all
	Record     func(O) *T                // returns nil for an object to ignore
	Sink       Sink[T]
	OnResponse func(context.Context, error) // called with the result of each request to the API server; may be nil
}

func (k Kind[O, T]) withDefaults() Kind[O, T] {
	if k.Select == nil {
		k.Select = func(*metav1.ListOptions) {}
	}
	if k.OnResponse == nil {
		k.OnResponse = func(context.Context, error) {}
	}
	return k
}

// Add adds an informer for one kind of object. The informer turns each object into a record as
// soon as the object is decoded.
func Add[O runtime.Object, T any](all *Informers, k Kind[O, T]) {
	k = k.withDefaults()
	pages := &listing{toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			options.ResourceVersion, options.ResourceVersionMatch = "", "" // the most recent list
			k.Select(&options)
			p, err := &page{}, error(nil)
			p.ListMeta, err = k.Source.List(ctx, options, func(o O) { p.Items = append(p.Items, &recordObject[T]{value: k.Record(o)}) })
			k.OnResponse(ctx, err)
			return p, err
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			k.Select(&options)
			w, err := k.Source.Watch(ctx, options)
			k.OnResponse(ctx, checkAnswer(w, err))
			return w, err
		},
	}}
	s := newReflectorStore(k)
	reflector := toolscache.NewReflectorWithOptions(pages, *new(O), s, toolscache.ReflectorOptions{Name: k.Name, TypeDescription: k.Name})
	reflector.WatchListPageSize = pageSize
	all.counters = append(all.counters, s.counter)
	all.informers = append(all.informers, informer{reflector.RunWithContext, s.synced})
}

// checkAnswer returns why a watch has not begun. If a connection ends without an answer,
// rest.Request.Watch of client-go returns an empty watch and no error.
func checkAnswer(w watch.Interface, err error) error {
	if err == nil && reflect.TypeOf(w) == reflect.TypeOf(watch.NewEmptyWatch()) {
		return errNoAnswer
	}
	return err
}

var errNoAnswer = errors.New("the API server closes connections without an answer")

// pageSize is the number of objects in one page, for sources that list in pages.
const pageSize = 500

// A listing makes the reflector list first and then watch. The alternative, a watch that
// begins with the present objects, costs one write and one read for each object on both sides,
// and takes twice the time.
type listing struct{ toolscache.ListWatch }

// IsWatchListSemanticsUnSupported tells client-go not to begin with a watch.
func (*listing) IsWatchListSemanticsUnSupported() bool { return true }

// A reflectorStore implements toolscache.ReflectorStore for one kind. Only one goroutine calls
// it.
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

// A page is a list result for the reflector; its items are records.
type page struct {
	metav1.TypeMeta
	metav1.ListMeta
	Items []runtime.Object
}

// DeepCopyObject returns the page itself, because pages are immutable.
func (p *page) DeepCopyObject() runtime.Object { return p }

// A recordObject wraps a record as a runtime.Object for client-go.
type recordObject[T any] struct {
	metav1.TypeMeta
	value *T
}

// DeepCopyObject returns the record itself, because records are immutable.
func (o *recordObject[T]) DeepCopyObject() runtime.Object { return o }

// value returns the record of an object, nil if the object is to be ignored.
func (s *reflectorStore[O, T]) value(obj any) *T {
	switch o := obj.(type) {
	case O:
		return s.record(o)
	case *recordObject[T]:
		return o.value
	}
	return nil
}

// Add puts the record of a new object into the sink.
func (s *reflectorStore[O, T]) Add(obj any) error {
	if v := s.value(obj); v != nil {
		s.counter.Added.Add(1)
		s.sink.Put(v)
	}
	return nil
}

// Update puts the record of a changed object into the sink.
func (s *reflectorStore[O, T]) Update(obj any) error {
	if v := s.value(obj); v != nil {
		s.counter.Updated.Add(1)
		s.sink.Put(v)
	}
	return nil
}

// Delete drops the record of a deleted object; obj is its last known state.
func (s *reflectorStore[O, T]) Delete(obj any) error {
	if v := s.value(obj); v != nil {
		s.counter.Deleted.Add(1)
		s.sink.Drop(v)
	}
	return nil
}

// Replace puts the records of all existing objects into the sink, and drops all other records:
// a watch may have missed the deletion of their objects.
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

// Resync does nothing, because the reflector requests no resync.
func (s *reflectorStore[O, T]) Resync() error { return nil }
