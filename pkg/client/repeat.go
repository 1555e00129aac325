package client

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"
)

const (
	firstPause = 100 * time.Millisecond // after a connection broke; it doubles from there
	busyPause  = time.Second            // before what the server could not take of a batch is tried again
	maxBreaks  = 5                      // broken connections in a row that are taken for an accident
)

// safe reports whether sending r twice does what sending it once does: it only
// reads, its key says that it is the same, or its effect is the same.
func (r request) safe() bool {
	return r.method == http.MethodGet || r.key != "" || r.same
}

// repeats reports whether r is to be sent again after err, and how long to wait
// before that. A server that is not there at all is not waited for.
func (r request) repeats(err error, attempt int) (wait time.Duration, again bool) {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || !r.safe():
		return 0, false
	case e.Code == http.StatusServiceUnavailable || e.Code == http.StatusTooManyRequests:
		return e.RetryAfter, e.RetryAfter > 0
	case e.Code == 0 && broke(e.cause) && attempt < maxBreaks:
		return firstPause << attempt, true
	}
	return 0, false
}

// jittered returns d and up to half of it more. Clients that were turned away at
// the same moment so do not come back at the same moment, and none comes back
// before the server wants it.
func (c *Client) jittered(d time.Duration) time.Duration {
	return d + time.Duration(c.random()*float64(d)/2)
}

// broke reports whether err is of a connection that was there.
func broke(err error) bool {
	for _, sign := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
