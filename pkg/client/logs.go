package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"k8s-cli/pkg/task"
)

// ErrBrokenLog is the kind of error of a log that began and then broke off: the
// task may well go on.
var ErrBrokenLog = errors.New("the log broke off")

// LogOptions narrow a log. The zero value asks for all of it, to the end of the
// task.
type LogOptions struct {
	NoFollow   bool          // only what there is now
	Tail       *int          // only so many of the last lines, and what follows them; nil means all
	Since      time.Duration // only lines younger than this; 0 means all
	Node       *int          // only the node of this rank; nil means all
	Timestamps bool          // each line with its time in front
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
	if o.Timestamps {
		q.Set("timestamps", "true")
	}
	return q
}

// Logs copies the log of one task to w, byte for byte and as it comes, until the
// log ends, w fails or ctx is done. Waiting for a line has no limit. A log that
// the server does not bring to its end is an error of kind ErrBrokenLog.
func (c *Client) Logs(ctx context.Context, id string, o LogOptions, w io.Writer) error {
	path, err := path(task.KindTask, id, "logs")
	if err != nil {
		return err
	}
	response, err := c.send(ctx, request{method: http.MethodGet, path: path, query: o.query(), stream: true})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, err = io.Copy(w, logBody{response.Body, id})
	return err
}

// A logBody tells what went wrong with the server from what went wrong with the
// writer.
type logBody struct {
	io.Reader
	id string
}

func (b logBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: task %s: %w", ErrBrokenLog, b.id, err)
	}
	return n, err
}
