package logs

import (
	"context"

	corev1 "k8s.io/api/core/v1"
)

const (
	// leastPiece is no more than what a runtime stores of a line at once, lest it
	// becomes several entries: containerd 16 KiB by default, CRI-O 8 KiB.
	leastPiece = 4 << 10

	mostTail = 10_000 // lines that are counted exactly
)

// readTail reads the last lines that there are. The kubelet counts the pieces in
// which long lines are stored, and may begin within a line: it is asked for one
// more, of which the first is not trusted, and for more if some were pieces.
func (r *reader) readTail(ctx context.Context, o corev1.PodLogOptions) (rest []byte, err error) {
	n := *r.tail
	r.place.Within()
	if n > mostTail {
		o.TailLines = &n
		body, err := r.open(ctx, o)
		if err != nil {
			return nil, err
		}
		defer body.Close()
		return r.copy(body)
	}
	before := -1
	for pieces := n + 1; ; pieces *= 2 {
		o.TailLines = &pieces
		last := ring{most: int(n) + 1}
		if rest, err = r.readInto(ctx, o, &last); err != nil {
			return nil, err
		}
		if last.full() || last.longest < leastPiece || last.bytes == before {
			return rest, r.passTail(last.lines[len(last.lines)-min(len(last.lines), int(n)):])
		}
		before = last.bytes
	}
}

func (r *reader) readInto(ctx context.Context, o corev1.PodLogOptions, last *ring) (rest []byte, err error) {
	body, err := r.open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return scan(body, last.add)
}

func (r *reader) passTail(lines []line) error {
	for _, l := range lines {
		r.place.Note(l.at, l.sum)
	}
	return r.pass(lines)
}

// A ring holds the last lines of many.
type ring struct {
	most    int
	lines   []line
	bytes   int // of all lines
	longest int
}

func (r *ring) add(lines []line) error {
	for _, l := range lines {
		r.bytes, r.longest = r.bytes+len(l.raw), max(r.longest, len(l.raw))
	}
	r.lines = append(r.lines, lines...)
	if over := len(r.lines) - r.most; over > 0 {
		r.lines = append([]line(nil), r.lines[over:]...)
	}
	return nil
}

func (r *ring) full() bool { return len(r.lines) == r.most }
