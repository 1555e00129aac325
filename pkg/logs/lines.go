package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s-cli/pkg/task"
)

const (
	bufferSize = 64 << 10 // bytes that are read from a connection at once
	batchSize  = 64 << 10 // bytes of lines that are passed on at once, or one line
)

// A line is one line of a pod's log. It is not changed any more.
type line struct {
	at   time.Time
	sum  uint64
	raw  []byte // as the API server sends it: the time, a blank, the text and its end
	text []byte // of raw, with its end
}

// lineOf reads a line that has its end.
func lineOf(raw []byte) (line, error) {
	stamp, _, found := bytes.Cut(raw, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if !found || err != nil {
		return line{}, fmt.Errorf("a line begins with %.80q instead of its time", raw)
	}
	return line{at: at, sum: task.LineSum(raw), raw: raw, text: raw[len(stamp)+1:]}, nil
}

// scan passes on the lines that the API server sends, which may be of any
// length, as many at once as are at hand. What comes after the last end of a
// line is the rest: there is more of it, or the log ends so.
//
// A log that is read from some second on may begin within a line: the runtime
// stores a long one in pieces, each with a time of its own, and the kubelet
// gives a time to the first piece alone. What was read before has that line.
func scan(r io.Reader, pass func([]line) error) (rest []byte, err error) {
	in := bufio.NewReaderSize(r, bufferSize)
	var batch []line
	size := 0
	for first := true; ; first = false {
		raw, err := in.ReadBytes('\n')
		if err != nil {
			if len(batch) > 0 {
				if err := pass(batch); err != nil {
					return nil, err
				}
			}
			return ending(raw, err)
		}
		l, err := lineOf(raw)
		if err != nil && first {
			continue
		}
		if err != nil {
			return nil, err
		}
		batch, size = append(batch, l), size+len(raw)
		if size < batchSize && in.Buffered() > 0 {
			continue
		}
		if err := pass(batch); err != nil {
			return nil, err
		}
		batch, size = nil, 0
	}
}

// errNoLog is in place of a log that the kubelet has no more, or not yet.
var errNoLog = errors.New("there is no log")

// ending returns what is behind the last end of a line. What is no line is what
// the kubelet says of why there is no log.
func ending(raw []byte, err error) (rest []byte, _ error) {
	switch {
	case !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("read a line: %w", err)
	case len(raw) == 0:
		return nil, nil
	}
	if _, err := lineOf(raw); err != nil {
		return nil, fmt.Errorf("%w: the kubelet says %.200q", errNoLog, raw)
	}
	return raw, nil
}
