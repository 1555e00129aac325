package client

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task/logcursor"
)

const (
	resumeHeader    = "X-Log-Resume"    // how far each node's log was read; the answer can be read on
	resumeStart     = "start"           // its value at the beginning
	resumableHeader = "X-Log-Resumable" // of an answer each line of which begins with its time

	// maxToken is how long the place of a log may be when it is asked for: servers
	// take some 16 KB of a request's head. It is enough for 800 nodes.
	maxToken = 12 << 10
)

// A logReader knows how far a log was read, by node. It asks the server for the
// time of each line, and takes the times out again.
type logReader struct {
	id      string
	options LogOptions
	out     io.Writer

	asked     time.Time
	began     bool // the server has answered once
	resumable bool // it can read on
	lines     int
	places    map[int]*logcursor.Cursor // by rank
}

func newLogReader(id string, o LogOptions, out io.Writer) *logReader {
	return &logReader{id: id, options: o, out: out, asked: time.Now(), places: map[int]*logcursor.Cursor{}}
}

// query asks for what did not come yet.
func (l *logReader) query() url.Values {
	o := l.options
	if o.Since > 0 && l.began {
		o.Since += time.Since(l.asked)
	}
	return o.query()
}

// token says from which second on the lines of each node are wanted.
func (l *logReader) token() string {
	if len(l.places) == 0 {
		return resumeStart
	}
	parts := make([]string, 0, len(l.places))
	for _, rank := range slices.Sorted(maps.Keys(l.places)) {
		parts = append(parts, fmt.Sprintf("%d@%d", rank, l.places[rank].Since().Unix()))
	}
	return strings.Join(parts, ",")
}

// resumes reports whether to read on after an error.
func (l *logReader) resumes(err error) bool {
	if !l.resumable || len(l.token()) > maxToken {
		return false
	}
	if errors.Is(err, ErrBrokenLog) {
		return true
	}
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Code == 0 || e.Code == http.StatusServiceUnavailable || e.Code == http.StatusTooManyRequests)
}

// copy copies the lines of an answer that did not come before.
func (l *logReader) copy(body io.Reader) error {
	in := bufio.NewReaderSize(logBody{body, l.id}, 64<<10)
	out := bufio.NewWriterSize(l.out, 64<<10)
	again := map[int]*logcursor.Deduper{}
	for rank, place := range l.places {
		again[rank] = place.Deduper()
	}
	for {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, ErrBrokenLog) { // half a line comes again
			return errors.Join(out.Flush(), err)
		}
		if len(raw) > 0 {
			if err := l.pass(raw, again, out); err != nil {
				return err
			}
		}
		if err != nil {
			return out.Flush()
		}
		if in.Buffered() == 0 {
			if err := out.Flush(); err != nil {
				return err
			}
		}
	}
}

// pass writes a line as it was asked for, if it is new.
func (l *logReader) pass(raw []byte, again map[int]*logcursor.Deduper, out *bufio.Writer) error {
	rank, prefix, at, ok := headOf(raw)
	if !ok {
		return fmt.Errorf("the log of task %s has a line without its time: %.80q", l.id, raw)
	}
	sum := logcursor.Sum(raw)
	if r := again[rank]; r != nil && r.Has(at, sum) {
		return nil
	}
	if l.places[rank] == nil {
		l.places[rank] = &logcursor.Cursor{}
		l.places[rank].SkipPrefix()
	}
	l.places[rank].Advance(at, sum)
	l.lines++
	text := raw[prefix:]
	if !l.options.Timestamps {
		_, text, _ = bytes.Cut(text, []byte(" "))
	}
	if _, err := out.Write(raw[:prefix]); err != nil {
		return err
	}
	_, err := out.Write(text)
	return err
}

// headOf reads what is in front of a line: "node-RANK | " in the log of several
// nodes, which is so many bytes, and the time.
func headOf(raw []byte) (rank, prefix int, at time.Time, ok bool) {
	if bytes.HasPrefix(raw, []byte("node-")) {
		const mark = " | "
		end := bytes.Index(raw, []byte(mark))
		if end < 0 {
			return 0, 0, at, false
		}
		n, err := strconv.Atoi(string(raw[len("node-"):end]))
		if err != nil {
			return 0, 0, at, false
		}
		rank, prefix = n, end+len(mark)
	}
	stamp, _, _ := bytes.Cut(raw[prefix:], []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	return rank, prefix, at, err == nil
}
