package logs

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
)

const (
	// leastPiece is no more than what a runtime stores of a line at once, lest it
	// becomes several entries: containerd 16 KiB by default, CRI-O 8 KiB.
	leastPiece = 4 << 10

	mostTail  = 10_000  // lines that are counted exactly
	tailBytes = 4 << 20 // of memory that they may take for it
)

// readTail reads the last lines that there are. The kubelet counts the pieces in
// which long lines are stored, and may begin within a line: it is asked for one
// more, of which the first is not trusted, and for more if some were pieces.
func (r *reader) readTail(ctx context.Context, o corev1.PodLogOptions) (rest *line, err error) {
	n := *r.tail
	r.cursor.SkipPrefix()
	if n > mostTail {
		return r.copyTail(ctx, o)
	}
	before := -1
	for pieces := n + 1; ; pieces *= 2 {
		o.TailLines = &pieces
		last := lineRing{most: int(n) + 1}
		rest, err = r.readInto(ctx, o, &last)
		if errors.Is(err, errTailTooLong) {
			return r.copyTail(ctx, o)
		}
		if err != nil {
			return nil, err
		}
		if last.full() || last.longest < leastPiece || last.bytes == before {
			last.trim(int(n))
			return rest, r.passTail(last.lines)
		}
		before = last.bytes
	}
}

// copyTail passes on the last lines as the kubelet counts them.
func (r *reader) copyTail(ctx context.Context, o corev1.PodLogOptions) (rest *line, err error) {
	o.TailLines = r.tail
	body, err := r.open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return r.copy(body)
}

func (r *reader) readInto(ctx context.Context, o corev1.PodLogOptions, last *lineRing) (rest *line, err error) {
	body, err := r.open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return scan(body, last.add)
}

func (r *reader) passTail(lines []line) error {
	for _, l := range lines {
		r.cursor.Advance(l.at, l.sum)
	}
	return r.pass(lines)
}

var errTailTooLong = errors.New("the last lines are too long to count")

// A lineRing holds the last lines of many.
type lineRing struct {
	most    int    // lines
	lines   []line // or pieces of lines
	whole   int    // how many lines they are
	size    int    // memory that they take
	bytes   int    // of all lines
	longest int    // bytes of a line, or of a piece
}

func (r *lineRing) add(lines []line) error {
	for _, l := range lines {
		r.bytes, r.longest = r.bytes+len(l.raw), max(r.longest, len(l.raw))
		r.size += l.size()
		if !l.isMore {
			r.whole++
		}
	}
	r.lines = append(r.lines, lines...)
	r.trim(r.most)
	if r.size > tailBytes {
		return errTailTooLong
	}
	return nil
}

// trim drops all lines but the last n.
func (r *lineRing) trim(n int) {
	i := 0
	for ; r.whole > n || i > 0 && i < len(r.lines) && r.lines[i].isMore; i++ {
		r.size -= r.lines[i].size()
		if !r.lines[i].isMore {
			r.whole--
		}
	}
	if i > 0 {
		r.lines = append([]line(nil), r.lines[i:]...)
	}
}

func (r *lineRing) full() bool { return r.whole == r.most }
