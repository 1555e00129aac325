package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/logpos"
)

// ErrBrokenLog is the kind of error of a log that broke off after the response began. The
// task may still run.
var ErrBrokenLog = errors.New("the log broke off")

// LogOptions select a part of a log. The zero value selects the whole log until the end of
// the task.
type LogOptions struct {
	NoFollow   bool          // only the present lines
	Tail       *int          // only this number of last lines, and the lines after them; nil means all
	Since      time.Duration // only lines younger than this; 0 means all
	Node       *int          // only the node of this rank; nil means all
	Attempt    int           // only the attempts of this number, from 1; 0 means all
	Timestamps bool          // each line begins with its time

	// Interrupted, if not nil, is called with the cause when a log that broke off could not
	// continue for a second, once for each interruption. Logs tries again afterwards.
	Interrupted func(cause error)
}

func (o LogOptions) query() url.Values {
	q := url.Values{}
	if o.NoFollow {
		q.Set("follow", "false")
	}
	if o.Tail != nil {
		q.Set("tail", strconv.Itoa(*o.Tail))
	}
	if o.Since != 0 {
		q.Set("since", o.Since.String())
	}
	if o.Node != nil {
		q.Set("node", strconv.Itoa(*o.Node))
	}
	if o.Attempt != 0 {
		q.Set("attempt", strconv.Itoa(o.Attempt))
	}
	if o.Timestamps {
		q.Set("timestamps", "true")
	}
	return q
}

const steady = 5 * time.Second // a connection that lasted longer resets the count of failed attempts, even without a line

// Logs copies the log of one task to w, byte for byte and without delay, until the log
// ends, w fails or ctx is done. Waiting for a line has no timeout.
//
// Logs sends the request again if the connection breaks before the response, or if the
// server asks for a pause. After a break in the response, Logs resumes the log on any pod
// of the server, without loss or repeats. If the log stays unavailable for longer than the
// client's timeout, or if the server cannot resume the log, the error is of kind
// ErrBrokenLog. A path that swallows data counts as broken after 45 seconds if the server
// writes a sign of life every 15 seconds.
func (c *Client) Logs(ctx context.Context, id string, o LogOptions, w io.Writer) error {
	path, err := objectPath(task.KindTask, id, "logs")
	if err != nil {
		return err
	}
	l := newLogReader(id, o, w)
	var down time.Time // since when the connection is down
	told := false      // about this interruption
	for attempt := 0; ; attempt++ {
		began, lines := time.Now(), l.lines
		r := request{method: http.MethodGet, path: path, query: l.query(), resume: l.token(), stream: true}
		err := c.logOnce(ctx, r, l)
		if err == nil || ctx.Err() != nil {
			return err
		}
		wait, again := c.repeats(r, err, attempt)
		if l.began {
			wait, again = min(firstPause<<min(attempt, 10), maxPause), l.resumes(err)
		}
		if !again {
			return err
		}
		if l.began && (l.lines > lines || l.answered && time.Since(began) > steady) {
			attempt, down, told = 0, time.Time{}, false
		}
		if down.IsZero() {
			down = time.Now()
		}
		switch away := time.Since(down); {
		case l.began && away > c.timeout:
			return broken(id, err)
		case !l.began && away+wait > c.timeout:
			return err
		case l.began && away > time.Second && !told && o.Interrupted != nil:
			told = true
			o.Interrupted(err)
		}
		select {
		case <-time.After(c.jittered(wait)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// LogLines returns lines of the log of one node and one attempt by their numbers. o selects the
// node and the attempt. The part has at most logpos.MaxLines lines; request the lines from
// Last+1 on for the next part.
func (c *Client) LogLines(ctx context.Context, id string, lines logpos.Range, o LogOptions) (logpos.Part, error) {
	path, err := objectPath(task.KindTask, id, "logs")
	if err != nil {
		return logpos.Part{}, err
	}
	var header http.Header
	var text []byte
	q := o.query()
	q.Set("lines", lines.String())
	if err := c.do(ctx, request{method: http.MethodGet, path: path, query: q, header: &header}, &text); err != nil {
		return logpos.Part{}, err
	}
	return logpos.ParsePart(header.Get(logpos.Header), text)
}

// logOnce copies the log from one connection.
func (c *Client) logOnce(ctx context.Context, r request, l *logReader) error {
	l.answered = false
	response, body, err := c.stream(ctx, r, cmp.Or(l.silence, firstSilence))
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }()
	l.began, l.answered, l.silence, body.limit = true, true, 0, 0
	if l.resumable = response.Header.Get(resumableHeader) == "true"; l.resumable {
		l.silence = silenceOf(response.Header)
		body.limit = l.silence
		return l.copy(body)
	}
	_, err = io.Copy(l.out, logBody{body, l.id})
	return err
}

// A logBody marks the read errors of a response with ErrBrokenLog, so that the caller can
// distinguish read errors from the write errors of the output.
type logBody struct {
	io.Reader
	id string
}

func (l logBody) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = broken(l.id, err)
	}
	return n, err
}

func broken(id string, err error) error {
	if errors.Is(err, ErrBrokenLog) {
		return err
	}
	return fmt.Errorf("%w: task %s: %w", ErrBrokenLog, id, err)
}
