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

	"k8s-cli/pkg/cache/lean"
)

// Extras bring into a picture what explains why tasks wait: the nodes of the
// cluster, and events. A server that may not see them says less, and works.
type Extras struct {
	picture *Picture
	logger  *slog.Logger
	kinds   []*extra
	pause   time.Duration // between two attempts at what is not allowed

	mu     sync.Mutex
	warned map[string]bool // of what is not allowed
}

// An extra is one kind of object that the server may not be allowed to see.
type extra struct {
	what      string // in a warning
	loses     string
	may       func(context.Context) error // asks for one object
	informers Informers
	synced    func() // called once all there were at first are in the picture; may be nil
}

const rightsPause = time.Minute

// Explain returns the informers that bring into the picture what explains why
// tasks wait. A nil logger means silence.
func (p *Picture) Explain(k8s kubernetes.Interface, namespace string, logger *slog.Logger) *Extras {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	nodes, events := k8s.CoreV1().Nodes(), k8s.CoreV1().Events(namespace)
	x := &Extras{picture: p, logger: logger, pause: rightsPause, warned: map[string]bool{}}
	addExtra(x, &extra{what: "nodes", loses: "what the nodes of the cluster could hold is not known", synced: p.nodes.learn},
		fields.Everything(), lean.SourceOf[*corev1.Node](nodes.List, nodes.Watch), store[*corev1.Node, corev1.Node]{
			of: nodeOf, put: p.nodes.put, drop: p.nodes.drop, name: func(n *corev1.Node) string { return n.Name }, all: p.nodes.list,
		})
	for _, about := range [][]string{
		{"Job", "reason=FailedCreate"},
		{"Pod", "type=Warning", "reason!=FailedScheduling", "reason!=BackOff", "reason!=Failed", "reason!=Unhealthy"},
		{"PersistentVolumeClaim"},
	} {
		addExtra(x, &extra{what: "events", loses: "why pods are refused, and volumes not mounted or not bound, is not known"},
			fields.ParseSelectorOrDie("involvedObject.kind="+strings.Join(about, ",")), lean.SourceOf[*corev1.Event](events.List, events.Watch), store[*corev1.Event, notice]{
				of: noticeOf, put: p.putNotice, drop: p.dropNotice, name: func(n *notice) string { return n.event },
				all: func() []*notice { return p.allNotices(about[0]) },
			})
	}
	return x
}

// addExtra adds one kind, of which the objects that match selector are wanted.
func addExtra[O runtime.Object, T any](x *Extras, kind *extra, selector fields.Selector, from lean.Source[O], s store[O, T]) {
	selected := func(options *metav1.ListOptions) { options.FieldSelector = selector.String() }
	kind.may = func(ctx context.Context) error {
		options := metav1.ListOptions{Limit: 1}
		selected(&options)
		_, err := from.List(ctx, options, func(O) {})
		return err
	}
	x.kinds = append(x.kinds, kind)
	watchKind(&kind.informers, kind.what, from, selected, func(context.Context, error) {}, s)
}

// Run watches until ctx ends.
func (x *Extras) Run(ctx context.Context) error {
	var all sync.WaitGroup
	for _, kind := range x.kinds {
		all.Go(func() { x.run(ctx, kind) })
	}
	all.Go(func() { x.picture.keepExplaining(ctx) })
	all.Wait()
	return ctx.Err()
}

// run watches one kind from when it is allowed.
func (x *Extras) run(ctx context.Context, kind *extra) {
	for {
		err := kind.may(ctx)
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
func (x *Extras) warn(kind *extra, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.warned[kind.what] {
		x.warned[kind.what] = true
		x.logger.Warn("tasks that wait are explained less well: "+kind.loses+"; let the server list and watch "+kind.what, "err", err)
	}
}
