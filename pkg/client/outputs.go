package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// ErrOutputsChanged is the kind of error of a download whose archive the server replaced, because
// the node has run again. Start the download again.
var ErrOutputsChanged = errors.New("the outputs changed during the download")

// Outputs are the stored outputs of one node of a task: a gzipped tar file. The caller closes Body.
// After a broken connection, Body requests the rest of the archive.
type Outputs struct {
	Body io.ReadCloser
	Size int64  // bytes
	Sum  string // SHA-256 of the archive, hexadecimal
}

// Outputs returns the outputs of one node of a task. The error is of kind problem.NotFound if the
// server has no such outputs. Outputs sends the request again if the connection breaks, or if the
// server asks for a pause. Reading the body has no timeout.
func (c *Client) Outputs(ctx context.Context, id string, node int) (Outputs, error) {
	path, err := objectPath(task.KindTask, id, "outputs", strconv.Itoa(node))
	if err != nil {
		return Outputs{}, err
	}
	b := &outputsBody{client: c, ctx: ctx, request: request{method: http.MethodGet, path: path, stream: true}}
	if err := b.connect(); err != nil {
		return Outputs{}, err
	}
	return Outputs{b, b.size, strings.Trim(b.request.etag, `"`)}, nil
}

// An outputsBody reads an archive from one connection after the other.
type outputsBody struct {
	client  *Client
	ctx     context.Context //nolint:containedctx // of the request, as that of an http.Response
	request request         // for the bytes that the caller has not read
	size    int64           // of the archive in bytes; negative if unknown
	body    io.ReadCloser   // nil after a break
	breaks  int             // connections in a row that broke before the first byte
}

func (o *outputsBody) Read(p []byte) (int, error) {
	for {
		if o.body == nil {
			if err := o.resume(); err != nil {
				return 0, err
			}
		}
		n, err := o.body.Read(p)
		if o.request.from += int64(n); n > 0 {
			o.breaks = 0
		}
		if err == nil || errors.Is(err, io.EOF) || o.ctx.Err() != nil || o.request.etag == "" || o.breaks == maxBreaks {
			return n, err
		}
		o.breaks++
		_ = o.Close()
		if n > 0 {
			return n, nil
		}
	}
}

// Close closes the connection.
func (o *outputsBody) Close() error {
	if o.body == nil {
		return nil
	}
	err := o.body.Close()
	o.body = nil
	return err
}

// resume requests the rest of the archive after a pause.
func (o *outputsBody) resume() error {
	select {
	case <-time.After(o.client.jittered(firstPause << o.breaks)):
		return o.connect()
	case <-o.ctx.Done():
		return context.Cause(o.ctx)
	}
}

// connect sends the request until the client's timeout.
func (o *outputsBody) connect() error {
	began := time.Now()
	for attempt := 0; ; attempt++ {
		err := o.once()
		wait, again := o.client.repeats(o.request, err, attempt)
		if wait = o.client.jittered(wait); !again || time.Since(began)+wait > o.client.timeout {
			return err
		}
		select {
		case <-time.After(wait):
		case <-o.ctx.Done():
			return err
		}
	}
}

func (o *outputsBody) once() error {
	response, err := o.client.send(o.ctx, o.request)
	if err != nil {
		return err
	}
	if err := o.begin(response); err != nil {
		_ = response.Body.Close()
		return err
	}
	o.body = response.Body
	return nil
}

// begin moves to the first byte of the response that the caller has not read.
func (o *outputsBody) begin(response *http.Response) error {
	etag, from := response.Header.Get("ETag"), o.request.from
	switch {
	case from == 0:
		o.request.etag, o.size = etag, response.ContentLength
		return nil
	case response.StatusCode == http.StatusPartialContent:
		if got := response.Header.Get("Content-Range"); !strings.HasPrefix(got, fmt.Sprintf("bytes %d-", from)) {
			return fmt.Errorf("%w: the API server at %s was asked for the bytes from %d on and sent %q", ErrWrongAnswer, o.client.url, from, got)
		}
		return nil
	case etag != o.request.etag:
		return ErrOutputsChanged
	}
	if _, err := io.CopyN(io.Discard, response.Body, from); err != nil { // the server cannot send a part
		return o.client.unreachable(o.ctx, err)
	}
	return nil
}
