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

	"k8s-cli/pkg/task/logpos"
)

const (
	resumeHeader    = "X-Log-Resume"    // request header: position of each node in the log; asks for a response that can be resumed
	resumeStart     = "start"           // value of resumeHeader at the beginning of the log
	resumableHeader = "X-Log-Resumable" // response header: "true" if each line begins with its time, so that the log can be resumed

	// pingHeader is a header of both directions. The request asks for a sign of life. The response
	// names the seconds after which the server writes an empty line if it has no other line.
	pingHeader = "X-Log-Ping"
	maxPings   = 3 // missing signs of life after which a connection counts as broken

	// firstSilence is the longest time until a response begins. The first sign of life, at the
	// latest, begins it.
	firstSilence = maxPings * 15 * time.Second

	// maxToken is the largest value of resumeHeader, in bytes: servers accept about 16 KB
	// of headers. The limit is enough for 800 nodes.
	maxToken = 12 << 10
)

// A logReader tracks the position in the log of each node. A logReader requests the time of
// each line and removes the times from the output.
type logReader struct {
	id      string
	options LogOptions
	out     io.Writer

	asked     time.Time
	began     bool          // the server has answered once
	answered  bool          // the server has answered the last request
	resumable bool          // the server can resume the log
	silence   time.Duration // longest silence within the last response; 0 means no limit
	lines     int
	places    map[int]*logpos.Cursor // by rank
}

func newLogReader(id string, o LogOptions, out io.Writer) *logReader {
	return &logReader{id: id, options: o, out: out, asked: time.Now(), places: map[int]*logpos.Cursor{}}
}

// silenceOf returns the longest silence of a server that answers with a header, or 0 if the
// server sends no signs of life.
func silenceOf(h http.Header) time.Duration {
	seconds, _ := strconv.Atoi(h.Get(pingHeader))
	return maxPings * time.Duration(max(seconds, 0)) * time.Second
}

// query returns the query for the part of the log that has not been read yet.
func (l *logReader) query() url.Values {
	o := l.options
	if o.Since > 0 && l.began {
		o.Since += time.Since(l.asked)
	}
	return o.query()
}

// token returns the value of resumeHeader: for each node the second from which to send
// lines.
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

// resumes reports whether to resume the log after err.
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

// copy copies the lines of a response that were not copied before.
func (l *logReader) copy(body io.Reader) error {
	in := bufio.NewReaderSize(logBody{body, l.id}, 64<<10)
	out := bufio.NewWriterSize(l.out, 64<<10)
	again := map[int]*logpos.Deduper{}
	for rank, place := range l.places {
		again[rank] = place.Deduper()
	}
	for {
		raw, err := in.ReadBytes('\n')
		if errors.Is(err, ErrBrokenLog) { // the resumed log repeats a partial line
			return errors.Join(out.Flush(), err)
		}
		if isPing := l.silence > 0 && string(raw) == "\n"; len(raw) > 0 && !isPing {
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

// pass writes a line in the requested form, unless the line was written before.
func (l *logReader) pass(raw []byte, again map[int]*logpos.Deduper, out *bufio.Writer) error {
	rank, prefix, at, ok := headOf(raw)
	if !ok {
		return fmt.Errorf("the log of task %s has a line without its time: %.80q", l.id, raw)
	}
	sum := logpos.Sum(raw)
	if r := again[rank]; r != nil && r.Has(at, sum) {
		return nil
	}
	if l.places[rank] == nil {
		l.places[rank] = &logpos.Cursor{}
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

// headOf parses the head of a line: the prefix "node-RANK | " in the log of several nodes,
// and the time. prefix is the length of the node prefix in bytes.
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
