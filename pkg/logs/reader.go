package logs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logcursor"
)

const (
	retryPause  = time.Second // between attempts to read a log
	promptly    = 3           // failed attempts in a row after which the pause doubles
	maxPause    = 30 * time.Second
	finishTries = 5 // to read the log of a pod that does not run any more
)

// A reader reads the log of one pod, each line once, over as many connections
// as it takes.
type reader struct {
	tailer *Tailer
	task   string
	pod    *task.Pod
	cursor logcursor.Cursor
	first  func() corev1.PodLogOptions // what to ask for as long as no line came; nil for the beginning
	tail   *int64                      // so many of the last lines are enough as long as no line came; nil for all
	pass   func([]line) error          // takes the new lines
	once   bool                        // the caller repeats what fails: finish tries once
}

// read reads on: what there is, or with follow what comes too. What the log
// ends with is returned if it is no whole line.
func (r *reader) read(ctx context.Context, follow bool) (rest *line, err error) {
	var o corev1.PodLogOptions
	switch {
	case !r.cursor.Empty():
		o.SinceTime = &metav1.Time{Time: r.cursor.Since()}
	case r.first != nil:
		o = r.first()
	}
	if r.cursor.Empty() && r.tail != nil {
		return r.readTail(ctx, o)
	}
	o.Follow = follow
	body, err := r.open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return r.copy(body)
}

func (r *reader) open(ctx context.Context, o corev1.PodLogOptions) (io.ReadCloser, error) {
	o.Timestamps = true
	body, err := r.tailer.pods.GetLogs(r.pod.Name, &o).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the log of pod %s: %w", r.pod.Name, err)
	}
	return body, nil
}

// copy passes on what is new of a log that is read on.
func (r *reader) copy(body io.Reader) (rest *line, err error) {
	again := r.cursor.Deduper()
	return scan(body, func(lines []line) error {
		fresh := lines[:0]
		for _, l := range lines {
			if !again.Has(l.at, l.sum) {
				r.cursor.Advance(l.at, l.sum)
				fresh = append(fresh, l)
			}
		}
		return r.pass(fresh)
	})
}

// followToEnd reads until the pod has ended and nothing is left of its log, and
// reports whether it was read to the end. A connection that breaks is taken up
// again.
func (r *reader) followToEnd(ctx context.Context) bool {
	for failures := 0; ; {
		began := time.Now()
		rest, err := r.read(ctx, true)
		if ctx.Err() != nil || errors.Is(err, errNoReader) {
			return false
		}
		if r.ended(ctx, err == nil) {
			return r.finish(ctx, rest, err == nil)
		}
		failures++
		if err == nil || time.Since(began) > maxPause {
			failures = 0 // the connection was a good one for a while
		}
		if err != nil {
			r.broke(err)
		}
		if !sleep(ctx, followPause(failures)) {
			return false
		}
	}
}

// finish reads what is left of the log of a pod that has ended, and reports
// whether it was read to the end. rest and whole are of the connection before:
// if the pod is gone by now, it did bring all of it.
func (r *reader) finish(ctx context.Context, rest *line, whole bool) bool {
	for try := 1; ; try++ {
		final, err := r.read(ctx, false)
		if err == nil {
			return r.passRemaining(final) == nil
		}
		if ctx.Err() != nil || errors.Is(err, errNoReader) {
			return false
		}
		if apierrors.IsNotFound(err) || whole && errors.Is(err, errNoLog) || r.once || try == finishTries {
			return r.passRemaining(rest) == nil && whole
		}
		r.broke(err)
		if !pause(ctx) {
			return false
		}
	}
}

// passRemaining passes on a last line that has no end, and gives it one.
func (r *reader) passRemaining(rest *line) error {
	if rest == nil {
		return nil
	}
	l, err := rest.ended()
	if err != nil {
		return err
	}
	r.cursor.Advance(l.at, l.sum)
	return r.pass([]line{l})
}

func (r *reader) broke(err error) {
	r.tailer.log.Warn("a log stream broke; reconnecting", "task", r.task, "pod", r.pod.Name, "err", err)
}

// ended reports whether the pod has ended. The store may show that later than
// the end of its log: with patience a moment is waited for it.
func (r *reader) ended(ctx context.Context, patience bool) bool {
	ctx, cancel := context.WithTimeout(ctx, retryPause)
	defer cancel()
	for {
		v, changed := r.tailer.projection.WatchTask(r.task)
		if v.Record == nil || !running(v, r.pod.UID) {
			return true
		}
		if !patience {
			return false
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

// pause waits between two attempts, and reports whether there is to be another.
// followPause returns the pause after so many failed attempts in a row to follow a log.
func followPause(failures int) time.Duration {
	return min(retryPause<<min(max(failures-promptly, 0), 10), maxPause)
}

func pause(ctx context.Context) bool { return sleep(ctx, retryPause) }

// sleep reports whether it took d, rather than the end of ctx.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
