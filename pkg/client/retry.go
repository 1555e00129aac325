package client

import (
	"errors"
	"io"
	"net/http"
	"syscall"
	"time"

	"k8s-cli/pkg/task/problem"
)

const (
	firstPause = 100 * time.Millisecond // pause after the first broken connection; doubles with each attempt
	busyPause  = time.Second            // pause before a batch is sent again because the server was too busy for some tasks
	maxBreaks  = 5                      // broken connections in a row after which the client gives up
	maxPause   = 2 * time.Second        // longest pause before a read is sent again to a server that restarts
)

// reads reports whether r only reads.
func (r request) reads() bool { return r.method == http.MethodGet || r.method == http.MethodHead }

// safe reports whether sending r twice has the same effect as sending r once: r only reads,
// r has an idempotency key, or r is idempotent.
func (r request) safe() bool { return r.reads() || r.key != "" || r.same }

// repeats reports whether to send r again after err, and how long to wait before. A read is
// repeated while the server restarts. If the server has never answered this client, its URL may
// be wrong: a request that reached no server is then not repeated.
func (c *Client) repeats(r request, err error, attempt int) (wait time.Duration, again bool) {
	e, ok := errors.AsType[*Error](err)
	switch {
	case !ok || !r.safe():
		return 0, false
	case e.RetryAfter > 0 && (e.Code == http.StatusServiceUnavailable || e.Code == http.StatusTooManyRequests):
		return e.RetryAfter, true
	case r.reads() && c.reached.Load() && e.restarting():
		return min(firstPause<<min(attempt, 10), maxPause), true
	case e.Code == 0 && broke(e.cause) && attempt < maxBreaks:
		return firstPause << attempt, true
	}
	return 0, false
}

// jittered returns d plus a random share of up to d/2. The jitter spreads the retries of
// clients that were rejected at the same moment. The pause is never shorter than the server
// asked for.
func (c *Client) jittered(d time.Duration) time.Duration {
	return d + time.Duration(c.random()*float64(d)/2)
}

// restarting reports whether e is an error of a server that restarts, or of a proxy before the
// server.
func (e *Error) restarting() bool {
	return e.Code == 0 && (errors.Is(e.cause, syscall.ECONNREFUSED) || broke(e.cause)) || e.Reason == string(problem.Starting)
}

// broke reports whether err comes from a connection that broke after it was established.
func broke(err error) bool {
	for _, sign := range []error{io.EOF, io.ErrUnexpectedEOF, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, sign) {
			return true
		}
	}
	return false
}
