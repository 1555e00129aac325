// Package logs merges the logs of a task's pods into one stream. The stream begins with the
// first line, even if no pod exists yet, and lasts until the end of the last pod. The package
// also archives the last part of each log.
package logs

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A Projection returns the pods of tasks, and notifies of changes.
type Projection interface {
	TaskView(id string) task.View
	WatchTask(id string) (v task.View, changed <-chan struct{})
	Keys() []task.Key
}

// readAtOnce is how many logs one call of Tail reads at once, except for the logs of
// running pods, which Tail all follows at once.
const readAtOnce = 8

// A Tailer reads logs through the API server, and archived logs from a store.
type Tailer struct {
	pods       coreclient.PodInterface
	projection Projection
	store      Store
	log        *slog.Logger
	hubs       hubs
	archives   bool // set by AwaitArchive
}

// New returns a tailer for the pods of one namespace. store contains the archived logs;
// store may be nil.
func New(k8s kubernetes.Interface, namespace string, projection Projection, store Store, log *slog.Logger) *Tailer {
	return &Tailer{
		pods: k8s.CoreV1().Pods(namespace), projection: projection, store: store, log: log,
		hubs: hubs{byUID: map[string]*hub{}},
	}
}

// AwaitArchive makes Tail wait a moment for the archive of a log whose pod is gone. Call AwaitArchive
// before Tail, and only if an archiver runs on some server.
func (t *Tailer) AwaitArchive() { t.archives = true }

// Check reports whether a task has the requested node. The error is of kind
// problem.Invalid, or of kind problem.NotFound if there is no such task.
func (t *Tailer) Check(id string, o task.LogOptions) error {
	v := t.projection.TaskView(id)
	if v.Record == nil {
		return task.ErrNoTask(id)
	}
	if nodes := v.NumNodes(); o.Node != nil && *o.Node >= nodes {
		return problem.New(problem.Invalid, fmt.Sprintf("node: %d is out of range; %s", *o.Node, task.RanksText(nodes)))
	}
	return checkAttempt(v, o)
}

// Tail copies the lines of a task to w until the task is over and the logs of its pods are
// at their end, w fails, or ctx ends. The attempts of a node follow each other, with a line
// in between that begins with "--- attempt". If the task has several nodes, each line begins
// with "node-{rank} | ", and the lines that are
// already there are in the order of time. Tail flushes w whenever no more lines are available.
func (t *Tailer) Tail(ctx context.Context, id string, o task.LogOptions, w *bufio.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &output{w: w, failed: cancel, done: ctx.Done()}
	c := copier{tailer: t, options: o, out: out, slots: make(chan struct{}, readAtOnce), nodes: map[int]*copiedNode{}, order: newOrder(ctx.Done())}
	defer c.streams.Wait()
	if o.Ping > 0 {
		defer out.ping(o.Ping)()
	}
	for {
		v, changed := t.projection.WatchTask(id)
		if v.Record == nil {
			return task.ErrNoTask(id)
		}
		c.copyNew(ctx, v)
		if v.Phase.Over() || !o.Follow || c.isPast(v) {
			c.streams.Wait()
			return out.failure()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			c.streams.Wait()
			return context.Cause(ctx)
		}
	}
}

func prefix(v task.View, rank int) string {
	if v.NumNodes() == 1 {
		return ""
	}
	return fmt.Sprintf("node-%d | ", rank)
}

func metaTime(t time.Time) *metav1.Time { return &metav1.Time{Time: t} }
