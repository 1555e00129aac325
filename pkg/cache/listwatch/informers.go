package listwatch

import (
	"context"
	"sync/atomic"
)

// Informers list and watch several kinds of objects and put the records of these
// objects into the sinks of the kinds.
type Informers struct {
	informers []informer
	counters  []*Counter
}

// An informer lists and watches one kind of object.
type informer struct {
	run    func(context.Context)
	synced <-chan struct{} // closed once all objects of the first list are in the sink
}

// A Counter counts the changes of one kind of object.
type Counter struct {
	Kind                    string
	Added, Updated, Deleted atomic.Uint64
}

// Run lists and watches until ctx ends.
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

// Synced waits until all objects of the first lists are in the sinks.
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

// Counters returns one counter for each kind.
func (i *Informers) Counters() []*Counter { return i.counters }
