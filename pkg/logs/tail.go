package logs

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
)

const (
	// leastPiece is a lower bound of the length at which container runtimes split lines:
	// containerd splits at 16 KiB by default, CRI-O at 8 KiB.
	leastPiece = 4 << 10

	mostTail  = 10_000  // largest tail that is counted exactly, in lines
	tailBytes = 4 << 20 // memory limit for an exact tail, in bytes
)

// readTail reads the last lines of the present log. The kubelet counts pieces of long lines
// as lines, and may begin within a line. readTail therefore requests one line more and
// ignores the first, and requests more lines if some were pieces. A rest that is no piece of a line is
// the last line.
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
			for _, l := range last.lines {
				r.cursor.Advance(l.at, l.sum)
			}
			if len(last.lines) == 0 {
				r.tail = nil // the log is one incomplete line, and later lines are not part of the tail
			}
			if rest != nil && !rest.isMore {
				n--
			}
			last.trim(int(n))
			return rest, r.pass(last.lines)
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

var errTailTooLong = errors.New("the last lines are too long to count")

// A lineRing holds the last lines of a log.
type lineRing struct {
	most    int    // largest number of lines
	lines   []line // lines or pieces of lines
	whole   int    // number of lines that begin in lines
	size    int    // memory that lines takes
	bytes   int    // bytes of all lines that were added
	longest int    // bytes of the longest line or piece that was added
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

// trim drops all lines except the last n.
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
