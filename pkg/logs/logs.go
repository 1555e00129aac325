// Package logs merges the logs of a task's pods into one stream of lines, from
// the first line, though no pod may exist yet, to the end of the last pod.
package logs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"

	"k8s-cli/pkg/task"
)

// A Picture tells which pods a task has, and when that changes.
type Picture interface {
	WatchTask(id string) (v task.View, changed <-chan struct{})
}

// A Tailer reads logs through the API server.
type Tailer struct {
	pods    coreclient.PodInterface
	picture Picture
	log     *slog.Logger
}

// New returns a tailer for the pods of one namespace that picture knows.
func New(k8s kubernetes.Interface, namespace string, picture Picture, log *slog.Logger) *Tailer {
	return &Tailer{pods: k8s.CoreV1().Pods(namespace), picture: picture, log: log}
}

// Check reports whether a task has the node that is asked for; the error is of
// kind task.ErrInvalid.
func (t *Tailer) Check(id string, o task.LogOptions) error {
	v, _ := t.picture.WatchTask(id)
	if v.Record == nil {
		return task.ErrNoTask(id)
	}
	if nodes := v.NumNodes(); o.Node != nil && *o.Node >= nodes {
		return task.Error(task.ErrInvalid, fmt.Sprintf("node: %d is not one of the task's %d nodes, which count from 0", *o.Node, nodes))
	}
	return nil
}

// Tail copies the lines of a task to w until the task is over and its pods'
// logs are at their end, w fails, or ctx ends. Lines of a task of several nodes
// begin with "node-{rank} | ". w is flushed whenever no more lines are at hand.
func (t *Tailer) Tail(ctx context.Context, id string, o task.LogOptions, w *bufio.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &lines{w: w, failed: cancel}
	var streams sync.WaitGroup
	defer streams.Wait()
	begun := map[string]bool{} // by UID of the pod
	for {
		v, changed := t.picture.WatchTask(id)
		if v.Record == nil {
			return task.ErrNoTask(id)
		}
		for rank, pod := range v.Pods {
			if pod == nil || !pod.Readable || begun[pod.UID] || o.Node != nil && *o.Node != rank {
				continue
			}
			begun[pod.UID] = true
			s := stream{tailer: t, task: id, pod: pod, options: o, out: out, prefix: prefix(v, rank)}
			streams.Go(func() { s.run(ctx) })
		}
		if v.Phase.Over() || !o.Follow {
			streams.Wait()
			return out.failure()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			streams.Wait()
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

// lines lets several streams write to one writer, a line at a time.
type lines struct {
	mu     sync.Mutex
	w      *bufio.Writer
	err    error
	failed context.CancelCauseFunc // ends all streams, since nobody reads them
}

func (l *lines) write(parts ...[]byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range parts {
		if l.err == nil && len(part) > 0 {
			_, err := l.w.Write(part)
			l.fail(err)
		}
	}
	return l.err
}

func (l *lines) flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.fail(l.w.Flush())
	}
	return l.err
}

func (l *lines) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// fail is called with the lock held.
func (l *lines) fail(err error) {
	if err != nil {
		l.err = err
		l.failed(err)
	}
}

const (
	retryPause = time.Second // between attempts to read a log whose pod still runs
	tries      = 5           // to read the log of a pod that does not run any more
)

// A stream is the log of one pod.
type stream struct {
	tailer  *Tailer
	task    string
	pod     *task.Pod
	options task.LogOptions
	out     *lines
	prefix  string
	place   place
}

// run copies the log until its pod has ended and nothing is left of it. A
// connection that breaks is taken up again after the last line that came.
func (s *stream) run(ctx context.Context) {
	for failures := 0; failures < tries; {
		err := s.copy(ctx)
		if ctx.Err() != nil || s.out.failure() != nil {
			return
		}
		if err == nil && (!s.options.Follow || s.ended(ctx)) {
			return
		}
		if err != nil {
			s.tailer.log.Warn("a log stream broke, reading on", "task", s.task, "pod", s.pod.Name, "err", err)
			if v, _ := s.tailer.picture.WatchTask(s.task); !s.options.Follow || v.Record == nil || !running(v, s.pod.UID) {
				failures++
			}
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return
		}
	}
}

// ended waits a moment for the picture to show that the pod has ended, which
// may come later than the end of its log.
func (s *stream) ended(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, retryPause)
	defer cancel()
	for {
		v, changed := s.tailer.picture.WatchTask(s.task)
		if v.Record == nil || !running(v, s.pod.UID) {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

func running(v task.View, uid string) bool {
	for _, pod := range v.Pods {
		if pod != nil && pod.UID == uid {
			return !pod.Phase.Over()
		}
	}
	return false
}

func (s *stream) copy(ctx context.Context) error {
	o := &corev1.PodLogOptions{Follow: s.options.Follow, Timestamps: true}
	if last := s.place.last; !last.IsZero() {
		o.SinceTime = &metav1.Time{Time: last}
	} else {
		o.TailLines = s.options.Tail
		if s.options.Since > 0 {
			o.SinceSeconds = new(int64(max(s.options.Since.Seconds(), 1)))
		}
	}
	body, err := s.tailer.pods.GetLogs(s.pod.Name, o).Stream(ctx)
	if err != nil {
		return fmt.Errorf("read the log of pod %s: %w", s.pod.Name, err)
	}
	err = s.copyLines(body)
	return errors.Join(err, body.Close())
}
