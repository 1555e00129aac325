package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// stream sends r and returns the response and its body. If nothing arrives for the time limit,
// before the response or while the caller reads, the request fails: a broken path may swallow data
// without an error. 0 means no limit. The caller closes the body.
func (c *Client) stream(ctx context.Context, r request, limit time.Duration) (*http.Response, *streamBody, error) {
	b := &streamBody{limit: limit}
	b.ctx, b.cancel = context.WithCancelCause(ctx)
	stop := b.watch()
	response, err := c.send(b.ctx, r)
	stop()
	if err != nil {
		b.cancel(nil)
		return nil, nil, err
	}
	b.body = response.Body
	return response, b, nil
}

// A streamBody is the body of a response that fails after a silence.
type streamBody struct {
	body   io.ReadCloser
	limit  time.Duration   // longest silence; 0 means no limit
	ctx    context.Context //nolint:containedctx // of the request, as that of an http.Response
	cancel context.CancelCauseFunc
}

// watch cancels the request after the longest silence, unless the caller calls stop before.
func (s *streamBody) watch() (stop func() bool) {
	if s.limit == 0 {
		return func() bool { return true }
	}
	return time.AfterFunc(s.limit, func() { s.cancel(fmt.Errorf("nothing came for %s", s.limit)) }).Stop
}

func (s *streamBody) Read(p []byte) (int, error) {
	stop := s.watch()
	n, err := s.body.Read(p)
	stop()
	if cause := context.Cause(s.ctx); cause != nil && err != nil && !errors.Is(err, io.EOF) {
		err = cause
	}
	return n, err
}

// Close cancels the request.
func (s *streamBody) Close() error {
	s.cancel(nil)
	return s.body.Close()
}
