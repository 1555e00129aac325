package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s-cli/pkg/task/logpos"
)

const (
	bufferSize = 64 << 10 // bytes that are read from a connection at once; longer lines are split into pieces
	batchSize  = 64 << 10 // bytes of lines that are passed on at once
)

// A line is one line of a pod's log, or a piece of a long line. A line may have any length,
// and no reader holds a long line as a whole. A line is immutable.
type line struct {
	at     time.Time
	sum    uint64
	raw    []byte // as the API server sends it: time, space, text and newline
	text   []byte // part of raw, with the newline unless another piece follows
	isMore bool   // raw contains only text, which continues the line before
}

// lineOf parses a line, or the first piece of a line.
func lineOf(raw []byte) (line, error) {
	stamp, _, found := bytes.Cut(raw, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !found || err != nil {
		return line{}, fmt.Errorf("a line begins with %.80q instead of a timestamp", raw)
	}
	return line{at: at, sum: logpos.Sum(raw), raw: raw, text: raw[len(stamp)+1:]}, nil
}

// piece returns the next piece of a line. The sum of a piece depends on the pieces before.
func (l line) piece(raw []byte) line {
	return line{at: l.at, sum: l.sum + logpos.Sum(raw), raw: raw, text: raw, isMore: true}
}

func (l line) isWhole() bool { return bytes.HasSuffix(l.raw, []byte("\n")) }

// countLines returns how many lines begin in a list of lines and pieces.
func countLines(lines []line) (n int) {
	for _, l := range lines {
		if !l.isMore {
			n++
		}
	}
	return n
}

// fromLine returns the lines from number n on and 0. If there are fewer lines, fromLine
// returns none and the rest of n. Lines count from 1; n = 0 means all lines.
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

// lineSize is the memory that a line takes in addition to its bytes.
const lineSize = 96

// A scanner reads the lines that the API server sends.
//
// A log that is read from a later second may begin within a line: the container runtime
// stores a long line in pieces, each with its own time, but the kubelet sends only the time
// of the first piece. The scanner skips such a partial line, which the reader already has.
type scanner struct {
	in    *bufio.Reader
	begun bool   // the first line was read
	last  line   // last line or piece
	skips bool   // the log began within a line, and the line has not ended
	bytes []byte // memory of the lines in the next batch
}

// scan passes on lines, in batches of the lines that are available without blocking. rest is the
// text after the last newline or nil: either more of the line follows later, or the log ends
// without a newline.
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

// next returns the next line or piece. With io.EOF, next returns the remaining bytes.
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

// clone copies a line into memory that the lines of one batch share.
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

// midLine reports whether the last line is incomplete.
func (s *scanner) midLine() bool { return len(s.last.raw) > 0 && !s.last.isWhole() }

// hasNext reports whether the next line or piece is available without blocking.
func (s *scanner) hasNext() bool {
	n := s.in.Buffered()
	next, _ := s.in.Peek(n)
	return n == bufferSize || bytes.IndexByte(next, '\n') >= 0
}

// errNoLog means that the kubelet has no log, either no longer or not yet.
var errNoLog = errors.New("there is no log")

// remaining returns the text after the last newline. If the text is not a line, it is the
// kubelet's message about a missing log.
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

// ended returns the rest of a log with the missing newline.
func (l line) ended() (line, error) {
	raw := append(bytes.Clone(l.raw), '\n')
	if !l.isMore {
		return lineOf(raw)
	}
	before := line{at: l.at, sum: l.sum - logpos.Sum(l.raw)}
	return before.piece(raw), nil
}
