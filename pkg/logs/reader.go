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
	"k8s-cli/pkg/task/logpos"
)

const (
	retryPause  = time.Second // pause between attempts to read a log
	promptly    = 3           // failed attempts in a row after which the pause doubles
	maxPause    = 30 * time.Second
	finishTries = 5 // attempts to read the log of a pod that no longer runs
)

// A reader reads the log of one pod over any number of connections and passes on each line
// once.
type reader struct {
	tailer *Tailer
	task   string
	pod    *task.Pod
	cursor logpos.Cursor
	// options of the request before the first line has arrived; nil for the beginning of
	// the log
	first func() corev1.PodLogOptions
	// number of last lines to request before the first line has arrived; nil for all lines
	tail *int64
	pass func([]line) error // receives the new lines
	once bool               // finish makes only one attempt, because the caller retries
}

// read continues to read the log: the present lines, or also future lines if follow is
// true. rest is the text after the last newline, if there is any.
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

// copy passes on the lines of a response that the reader does not have yet.
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

// followToEnd reads until the pod has ended and its log is at the end. followToEnd reports
// whether it reached the end. followToEnd reconnects after a broken connection.
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
			// The connection worked for some time before it broke.
			failures = 0
		}
		if err != nil {
			r.broke(err)
		}
		if !sleep(ctx, followPause(failures)) {
			return false
		}
	}
}

// finish reads the rest of the log of an ended pod and reports whether it reached the end.
// rest and whole describe the previous connection: if the pod no longer exists, whole
// reports whether that connection delivered the complete log.
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

// passRemaining passes on a last line without a newline, and adds the newline.
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

// ended reports whether the pod has ended. The store may learn of the end later than the
// end of the log, so with patience ended waits up to retryPause.
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

// followPause returns the pause after a number of failed attempts in a row to follow a log.
func followPause(failures int) time.Duration {
	return min(retryPause<<min(max(failures-promptly, 0), 10), maxPause)
}

// pause waits between two attempts and reports whether to make another attempt.
func pause(ctx context.Context) bool { return sleep(ctx, retryPause) }

// sleep waits for d and returns true, or returns false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
