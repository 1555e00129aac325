package cache

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"k8s-cli/pkg/cache/convert"
	"k8s-cli/pkg/cache/listwatch"
	"k8s-cli/pkg/cache/nodefit"
)

// OptionalInformers bring into a store what explains why tasks wait: the nodes of the
// cluster, and events. A server that may not see them says less, and works.
type OptionalInformers struct {
	store  *Store
	logger *slog.Logger
	kinds  []*optionalInformer
	pause  time.Duration // between two attempts at what is not allowed

	mu     sync.Mutex
	warned map[string]bool // of what is not allowed
}

// An optionalInformer is one kind of object that the server may not be allowed to see.
type optionalInformer struct {
	kind        string // in a warning
	consequence string
	probe       func(context.Context) error // asks for one object
	informers   Informers
	synced      func() // called once all there were at first are in the store; may be nil
}

const permissionRetry = time.Minute

// WatchNodesAndEvents returns the informers that bring into the store what explains why
// tasks wait. A nil logger means silence.
func (p *Store) WatchNodesAndEvents(k8s kubernetes.Interface, namespace string, logger *slog.Logger) *OptionalInformers {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	nodes, events := k8s.CoreV1().Nodes(), k8s.CoreV1().Events(namespace)
	x := &OptionalInformers{store: p, logger: logger, pause: permissionRetry, warned: map[string]bool{}}
	addOptionalInformer(x, &optionalInformer{kind: "nodes", consequence: "the capacity of the machines is unknown", synced: p.nodes.MarkKnown},
		fields.Everything(), listwatch.SourceOf[*corev1.Node](nodes.List, nodes.Watch), reflectorStore[*corev1.Node, corev1.Node]{
			of: nodefit.Trim, put: p.nodes.Put, drop: p.nodes.Drop, name: func(n *corev1.Node) string { return n.Name }, all: p.nodes.List,
		})
	for _, about := range [][]string{
		{"Job", "reason=FailedCreate"},
		{"Pod", "type=Warning", "reason!=FailedScheduling", "reason!=BackOff", "reason!=Failed", "reason!=Unhealthy"},
		{"PersistentVolumeClaim"},
	} {
		addOptionalInformer(x, &optionalInformer{kind: "events", consequence: "why pods are rejected, and volumes are not mounted or bound, is unknown"},
			fields.ParseSelectorOrDie("involvedObject.kind="+strings.Join(about, ",")), listwatch.SourceOf[*corev1.Event](events.List, events.Watch), reflectorStore[*corev1.Event, convert.K8sEvent]{
				of: convert.EventRecord, put: p.putK8sEvent, drop: p.dropK8sEvent, name: func(n *convert.K8sEvent) string { return n.Event },
				all: func() []*convert.K8sEvent { return p.allK8sEvents(about[0]) },
			})
	}
	return x
}

// addOptionalInformer adds one kind, of which the objects that match selector are wanted.
func addOptionalInformer[O runtime.Object, T any](x *OptionalInformers, kind *optionalInformer, selector fields.Selector, from listwatch.Source[O], s reflectorStore[O, T]) {
	selected := func(options *metav1.ListOptions) { options.FieldSelector = selector.String() }
	kind.probe = func(ctx context.Context) error {
		options := metav1.ListOptions{Limit: 1}
		selected(&options)
		_, err := from.List(ctx, options, func(O) {})
		return err
	}
	x.kinds = append(x.kinds, kind)
	watchKind(&kind.informers, kind.kind, from, selected, func(context.Context, error) {}, s)
}

// Run watches until ctx ends.
func (x *OptionalInformers) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, kind := range x.kinds {
		all.Go(func() { x.run(ctx, kind) })
	}
	all.Go(func() { x.store.runReasonRefresh(ctx) })
	all.Wait()
	return ctx.Err()
}

// run watches one kind from when it is allowed.
func (x *OptionalInformers) run(ctx context.Context, kind *optionalInformer) {
	for {
		err := kind.probe(ctx)
		if err == nil {
			break
		}
		if apierrors.IsForbidden(err) {
			x.warn(kind, err)
		}
		select {
		case <-time.After(x.pause):
		case <-ctx.Done():
			return
		}
	}
	var all sync.WaitGroup
	all.Go(func() { _ = kind.informers.Run(ctx) })
	if kind.synced != nil && kind.informers.Synced(ctx) == nil {
		kind.synced()
	}
	all.Wait()
}

// warn says once what is not known because of a right that is missing.
func (x *OptionalInformers) warn(kind *optionalInformer, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.warned[kind.kind] {
		x.warned[kind.kind] = true
		x.logger.Warn("missing RBAC (list, watch): pending reasons will be less detailed", "resource", kind.kind, "consequence", kind.consequence, "err", err)
	}
}
