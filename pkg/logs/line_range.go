package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/attempt"
	"k8s-cli/pkg/task/logpos"
	"k8s-cli/pkg/task/problem"
)

// maxWindow is the size in bytes at which a window is full, and the largest size of a line of a
// window.
const maxWindow = 1 << 20

// Lines returns lines of the log of one attempt of one node by their numbers. o selects the node
// and the attempt; without an attempt, Lines reads the last one.
//
// Kubernetes returns lines by number only from the end of a log. Lines therefore reads the log of
// a pod from the first line that the kubelet still has, which is line 1. If the pod no longer
// exists, Lines reads the archived log, whose lines keep their numbers.
func (t *Tailer) Lines(ctx context.Context, id string, o task.LogOptions, want logpos.Range) (logpos.Part, error) {
	v := t.projection.TaskView(id)
	rank := 0
	switch {
	case v.Record == nil:
		return logpos.Part{}, task.ErrNoTask(id)
	case o.Node != nil:
		rank = *o.Node
	case v.NumNodes() > 1:
		return logpos.Part{}, problem.New(problem.Invalid, "lines: each node of the task has lines of its own; name the node with the parameter node")
	}
	run, ok := runOf(v, rank, o.Attempt)
	if !ok {
		return logpos.Part{}, nil // the node has not started
	}
	n := numberedLog{stream: t.stream(v, rank, run, o, nil), want: want}
	return n.read(ctx)
}

// runOf returns the attempt of a number, or the last attempt of a node.
func runOf(v task.View, rank, number int) (run attempt.Run, ok bool) {
	for _, r := range attempts(v, rank) {
		if number == 0 || r.Number == number {
			run, ok = r, true
		}
	}
	return run, ok
}

// A numberedLog is the log of one attempt of a node. A client wants lines of this log by their
// numbers.
type numberedLog struct {
	*stream
	want logpos.Range
}

// read reads the archived log if it contains the lines, and otherwise the log of the pod.
func (n *numberedLog) read(ctx context.Context) (logpos.Part, error) {
	if n.pod != nil && !n.pod.Phase.Over() {
		part, err := n.readPod(ctx, logpos.Unknown)
		if !hasNoLog(err) {
			return part, err
		}
		n.pod = nil // the store learns later that the pod was deleted
	}
	stored, err := n.stored(ctx)
	if err != nil {
		return logpos.Part{}, err
	}
	if n.pod != nil && !stored.contains(n.want) {
		part, err := n.readPod(ctx, stored.total())
		if !hasNoLog(err) {
			return part, err
		}
	}
	return stored.read(n)
}

// hasNoLog reports whether the kubelet no longer has a log.
func hasNoLog(err error) bool { return apierrors.IsNotFound(err) || errors.Is(err, errNoLog) }

// readPod reads the log of the pod. total is the number of lines of the log, if it is known.
func (n *numberedLog) readPod(ctx context.Context, total int64) (logpos.Part, error) {
	w := n.window(0)
	body, err := n.open(ctx, corev1.PodLogOptions{})
	if err == nil {
		defer body.Close()
		err = w.scan(body)
	}
	switch {
	case errors.Is(err, errWindowFull):
		return w.part(total), nil
	case err == nil:
		return w.part(w.count), nil
	case hasNoLog(err):
		return logpos.Part{}, err
	}
	n.tailer.log.Warn("reading lines of a log failed", "task", n.task, "pod", n.pod.Name, "err", err)
	return logpos.Part{}, problem.New(problem.Unavailable, "the cluster does not return the log of pod "+n.pod.Name+" at present")
}

// window returns an empty window for the wanted lines of a log without its first lines.
func (n *numberedLog) window(missing int64) *window {
	return &window{want: n.want, prefix: n.prefix, timestamps: n.options.Timestamps, count: missing}
}

// A storedLog is an archived log. A nil *storedLog is a log that is not archived.
type storedLog struct {
	blob       []byte
	missing    int64 // lines before the first line that are not archived
	unnumbered bool  // missing is unknown, because an earlier release archived the log
}

// stored returns the archived log or nil.
func (n *numberedLog) stored(ctx context.Context) (*storedLog, error) {
	if n.tailer.store == nil {
		return nil, nil
	}
	about, blob, err := n.tailer.store.Get(ctx, archiveName(n.task, n.rank, n.number))
	switch {
	case errors.Is(err, problem.NotFound), err == nil && n.uid != "" && about[aboutPod] != n.uid:
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read an archived log: %w", err)
	}
	s := &storedLog{blob: blob}
	s.missing, err = strconv.ParseInt(about[aboutCutLines], 10, 64)
	s.unnumbered = err != nil && about[aboutCut] != "0"
	return s, nil
}

// total returns the number of lines of the log, if it is known.
func (s *storedLog) total() int64 {
	if s == nil || s.unnumbered {
		return logpos.Unknown
	}
	return s.missing + int64(bytes.Count(s.blob, []byte("\n")))
}

// contains reports whether the archive contains all lines of a range that exist.
func (s *storedLog) contains(want logpos.Range) bool {
	if s == nil || s.unnumbered {
		return false
	}
	return s.missing == 0 || want.First > s.missing || want.Tail > 0 && want.Tail <= s.total()-s.missing
}

func (s *storedLog) read(n *numberedLog) (logpos.Part, error) {
	switch {
	case s == nil:
		return logpos.Part{Total: logpos.Unknown}, nil
	case s.unnumbered:
		return logpos.Part{}, problem.New(problem.LogNotFound, "lines: the archive of this log does not contain the numbers of its lines; request the log without the parameter lines")
	case n.want.First > 0 && n.want.Last <= s.missing:
		return logpos.Part{}, problem.New(problem.LogNotFound, fmt.Sprintf("lines: the archive of this log begins with line %d", s.missing+1))
	}
	w := n.window(s.missing)
	if err := w.scan(bytes.NewReader(s.blob)); err != nil && !errors.Is(err, errWindowFull) {
		return logpos.Part{}, fmt.Errorf("read an archived log: %w", err)
	}
	return w.part(s.total()), nil
}

var errWindowFull = errors.New("the window has all its lines")

// A window collects lines of a log. A window for last lines drops earlier lines.
type window struct {
	want       logpos.Range
	prefix     string
	timestamps bool

	count int64    // lines of the log that have begun
	lines [][]byte // the lines of the window
	size  int      // bytes of lines
}

// scan reads a log until its end or until the window is full. The error is then errWindowFull.
func (w *window) scan(log io.Reader) error {
	rest, err := scan(log, w.add)
	if err != nil || rest == nil {
		return err
	}
	last, err := rest.ended()
	if err != nil {
		return err
	}
	return w.add([]line{last})
}

func (w *window) add(lines []line) error {
	for _, l := range lines {
		if l.isMore {
			w.extend(l.text)
			continue
		}
		if w.isFull() {
			return errWindowFull
		}
		if w.count++; w.count < w.want.First {
			continue
		}
		w.trim()
		text := []byte(w.prefix)
		if w.timestamps {
			text = append(l.at.AppendFormat(text, time.RFC3339Nano), ' ')
		}
		w.lines = append(w.lines, append(text, l.text...))
		w.size += len(text) + len(l.text)
	}
	return nil
}

// isFull reports whether the window takes no further line.
func (w *window) isFull() bool {
	return w.want.First > 0 && (w.count >= w.want.Last || w.size >= maxWindow)
}

// trim drops lines from the front of a window for last lines, to make room for one more line.
func (w *window) trim() {
	for w.want.First == 0 && len(w.lines) > 0 && (int64(len(w.lines)) >= w.want.Tail || w.size >= maxWindow) {
		w.size -= len(w.lines[0])
		w.lines = w.lines[1:]
	}
}

// extend adds a piece to the last line. extend drops the end of a line that is too long, except
// its newline.
func (w *window) extend(piece []byte) {
	if w.count < w.want.First || len(w.lines) == 0 {
		return
	}
	last := &w.lines[len(w.lines)-1]
	if len(*last) >= maxWindow {
		piece = piece[len(bytes.TrimSuffix(piece, []byte("\n"))):]
	}
	*last = append(*last, piece...)
	w.size += len(piece)
}

func (w *window) part(total int64) logpos.Part {
	p := logpos.Part{Total: total, Text: bytes.Join(w.lines, nil)}
	if n := int64(len(w.lines)); n > 0 {
		p.First, p.Last = w.count-n+1, w.count
	}
	return p
}
