package listwatch

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Optional informers watch kinds of objects that the server may lack the permission to watch.
// Each informer starts once the permission exists.
type Optional struct {
	logger *slog.Logger
	kinds  []*optionalKind
	pause  time.Duration // between two attempts without permission

	mu     sync.Mutex
	warned map[string]bool // resources that a warning was logged for
}

// An optionalKind is one kind of object that the server may lack the permission to watch.
type optionalKind struct {
	resource    string // name in the warning
	consequence string
	probe       func(context.Context) error // requests one object
	informers   Informers
	synced      func() // called once all objects of the first list are in the sink
}

const permissionRetry = time.Minute

// NewOptional returns optional informers without any kind. A nil logger logs nothing. retry is
// the time between two attempts at a kind without permission; 0 means a minute.
func NewOptional(logger *slog.Logger, retry time.Duration) *Optional {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Optional{logger: logger, pause: cmp.Or(retry, permissionRetry), warned: map[string]bool{}}
}

// AddOptional adds an informer for one kind. If the permission is missing, a warning states
// the consequence. synced is called once all objects of the first list are in the sink.
func AddOptional[O runtime.Object, T any](all *Optional, k Kind[O, T], consequence string, synced func()) {
	k = k.withDefaults()
	kind := &optionalKind{resource: k.Name, consequence: consequence, synced: synced}
	kind.probe = func(ctx context.Context) error {
		options := metav1.ListOptions{Limit: 1}
		k.Select(&options)
		_, err := k.Source.List(ctx, options, func(O) {})
		return err
	}
	Add(&kind.informers, k)
	all.kinds = append(all.kinds, kind)
}

// Run watches until ctx ends.
func (o *Optional) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, kind := range o.kinds {
		all.Go(func() { o.run(ctx, kind) })
	}
	all.Wait()
	return ctx.Err()
}

// run waits for the permission to watch one kind, and then watches the kind.
func (o *Optional) run(ctx context.Context, kind *optionalKind) {
	for {
		err := kind.probe(ctx)
		if err == nil {
			break
		}
		if apierrors.IsForbidden(err) {
			o.warn(kind, err)
		}
		select {
		case <-time.After(o.pause):
		case <-ctx.Done():
			return
		}
	}
	var all sync.WaitGroup
	all.Go(func() { _ = kind.informers.Run(ctx) })
	if kind.informers.Synced(ctx) == nil {
		kind.synced()
	}
	all.Wait()
}

// warn logs the missing permission, once for each resource.
func (o *Optional) warn(kind *optionalKind, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.warned[kind.resource] {
		o.warned[kind.resource] = true
		o.logger.Warn("missing RBAC (list, watch): pending reasons will be less detailed", "resource", kind.resource, "consequence", kind.consequence, "err", err)
	}
}
