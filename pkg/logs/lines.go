package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s-cli/pkg/task/logcursor"
)

const (
	bufferSize = 64 << 10 // bytes that are read from a connection at once, and of a line in one piece
	batchSize  = 64 << 10 // bytes of lines that are passed on at once
)

// A line is one line of a pod's log, or a piece of a long one: a line may have
// any length, and no reader holds all of it. It is not changed any more.
type line struct {
	at     time.Time
	sum    uint64
	raw    []byte // as the API server sends it: the time, a blank, the text and its end
	text   []byte // of raw, with its end unless another piece follows
	isMore bool   // raw is all text, which continues the line before
}

// lineOf reads a line, or the first piece of one.
func lineOf(raw []byte) (line, error) {
	stamp, _, found := bytes.Cut(raw, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !found || err != nil {
		return line{}, fmt.Errorf("a line begins with %.80q instead of a timestamp", raw)
	}
	return line{at: at, sum: logcursor.Sum(raw), raw: raw, text: raw[len(stamp)+1:]}, nil
}

// piece returns the next piece of a line. Its sum depends on those before.
func (l line) piece(raw []byte) line {
	return line{at: l.at, sum: l.sum + logcursor.Sum(raw), raw: raw, text: raw, isMore: true}
}

func (l line) isWhole() bool { return bytes.HasSuffix(l.raw, []byte("\n")) }

// countLines returns how many lines begin in pieces of lines.
func countLines(lines []line) (n int) {
	for _, l := range lines {
		if !l.isMore {
			n++
		}
	}
	return n
}

// fromLine returns the lines from the n-th on and 0, or none and how many of n
// are left. All lines are from line 0 on.
func fromLine(lines []line, n int) ([]line, int) {
	for i, l := range lines {
		if n > 0 && !l.isMore {
			n--
		}
		if n == 0 {
			return lines[i:], 0
		}
	}
	return nil, n
}

// size returns the memory that a line takes.
func (l line) size() int { return len(l.raw) + lineSize }

// lineSize is what a line takes beside its bytes.
const lineSize = 96

// A scanner reads the lines that the API server sends.
//
// A log that is read from some second on may begin within a line: the runtime
// stores a long one in pieces, each with a time of its own, and the kubelet
// gives a time to the first piece alone. What was read before has that line.
type scanner struct {
	in    *bufio.Reader
	begun bool   // a line came
	last  line   // or piece
	skips bool   // the log began within a line, which has not ended
	bytes []byte // of the lines that are passed on next
}

// scan passes on lines, as many at once as are at hand. What comes after the
// last end of a line is the rest, nil if nothing does: there is more of it, or
// the log ends so.
func scan(r io.Reader, pass func([]line) error) (rest *line, err error) {
	s := scanner{in: bufio.NewReaderSize(r, bufferSize)}
	var batch []line
	for size := 0; ; {
		l, err := s.next()
		if err == nil {
			batch, size = append(batch, l), size+len(l.raw)
			if size < batchSize && s.hasNext() {
				continue
			}
		}
		if len(batch) > 0 {
			if err := pass(batch); err != nil {
				return nil, err
			}
		}
		batch, size, s.bytes = nil, 0, nil
		if errors.Is(err, io.EOF) {
			return s.remaining(l.raw)
		}
		if err != nil {
			return nil, err
		}
	}
}

// next returns the next line or piece of one. With io.EOF it returns the bytes
// that are left.
func (s *scanner) next() (line, error) {
	for {
		raw, err := s.in.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return line{raw: bytes.Clone(raw)}, io.EOF
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return line{}, fmt.Errorf("read a line: %w", err)
		}
		ended := err == nil
		if s.skips {
			s.skips = !ended
			continue
		}
		l, err := s.read(s.clone(raw))
		if err != nil && !s.begun {
			s.begun, s.skips = true, !ended
			continue
		}
		s.begun, s.last = true, l
		return l, err
	}
}

// clone copies a line to where there is room for all that are at hand.
func (s *scanner) clone(raw []byte) []byte {
	if len(raw) > cap(s.bytes)-len(s.bytes) {
		s.bytes = make([]byte, 0, len(raw)+s.in.Buffered())
	}
	begin := len(s.bytes)
	s.bytes = append(s.bytes, raw...)
	return s.bytes[begin:len(s.bytes):len(s.bytes)]
}

func (s *scanner) read(raw []byte) (line, error) {
	if s.midLine() {
		return s.last.piece(raw), nil
	}
	return lineOf(raw)
}

// midLine reports whether the last line goes on.
func (s *scanner) midLine() bool { return len(s.last.raw) > 0 && !s.last.isWhole() }

// hasNext reports whether the next line or piece is at hand.
func (s *scanner) hasNext() bool {
	n := s.in.Buffered()
	next, _ := s.in.Peek(n)
	return n == bufferSize || bytes.IndexByte(next, '\n') >= 0
}

// errNoLog is in place of a log that the kubelet has no more, or not yet.
var errNoLog = errors.New("there is no log")

// remaining returns what is behind the last end of a line. What is no line is what
// the kubelet says of why there is no log.
func (s *scanner) remaining(raw []byte) (*line, error) {
	if len(raw) == 0 && !s.midLine() && !s.skips {
		return nil, nil
	}
	l, err := s.read(raw)
	if s.skips || err != nil {
		return nil, fmt.Errorf("%w: the kubelet says %.200q", errNoLog, raw)
	}
	return &l, nil
}

// ended returns the rest of a log with the end that it lacks.
func (l line) ended() (line, error) {
	raw := append(bytes.Clone(l.raw), '\n')
	if !l.isMore {
		return lineOf(raw)
	}
	before := line{at: l.at, sum: l.sum - logcursor.Sum(l.raw)}
	return before.piece(raw), nil
}
