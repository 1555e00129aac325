package submit

import (
	"context"
	"errors"
	"net/http"
	"time"
)

// A readPoint is a moment at which the store contained everything that was in the log.
type readPoint time.Time

// readPointLifetime is how long the controller may act on a read point. While a process is
// paused, another pod may become the leader, create objects, and delete those that are no
// longer wanted. The lifetime is shorter than the time that a Lease lasts beyond the last
// moment at which its holder may act.
const readPointLifetime = time.Second

var (
	errNoReadIndex = errors.New("the end of the command log is unknown; nothing is created or deleted")
	errStaleRead   = errors.New("this process was paused, and the desired state may have changed")
)

// readBarrier waits until the store contains everything that is in the log.
func (c *Controller) readBarrier(ctx context.Context) (readPoint, error) {
	now := c.now()
	if _, ok := c.log.WaitReadIndex(ctx); !ok {
		return readPoint{}, errNoReadIndex
	}
	return readPoint(now), nil
}

func (p readPoint) checkFresh() error {
	if time.Since(time.Time(p)) > readPointLifetime {
		return errStaleRead
	}
	return nil
}

// bind returns a context whose requests are sent only while the read point is fresh.
func (p readPoint) bind(ctx context.Context) context.Context {
	return context.WithValue(ctx, readPointKey{}, p)
}

type readPointKey struct{}

// StalenessGuard returns a transport that sends a creation only while its read point is fresh.
// Between the decision and the request the object is encoded, and client-go may pause and
// retry; the process may be paused in any of these steps. HTTP/2 checks the context once more
// before it writes the header of the request, and again before it writes the body: a process that
// is paused at the header sends no body. A process that is paused at the body sends the body late,
// but the API server ends the request requestTimeout after the header has arrived.
func StalenessGuard(next http.RoundTripper) http.RoundTripper { return stalenessGuard{next} }

type stalenessGuard struct{ http.RoundTripper }

func (g stalenessGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	if l, ok := r.Context().Value(readPointKey{}).(readPoint); ok {
		if err := l.checkFresh(); err != nil {
			return nil, err
		}
		r = guard(r, l)
	}
	return g.RoundTripper.RoundTrip(r)
}

// requestTimeout is how long the API server works on a creation from the arrival of its header. It
// leaves time for admission webhooks. A webhook may take 10 s by default, and takes milliseconds as a rule.
const requestTimeout = 10 * time.Second

// guard returns a copy of a request that is sent only while a read point is fresh.
func guard(r *http.Request, point readPoint) *http.Request {
	r = r.Clone(expiringContext{r.Context(), point})
	query := r.URL.Query()
	query.Set("timeout", requestTimeout.String())
	r.URL.RawQuery = query.Encode()
	return r
}

// An expiringContext is done once its read point has expired. From then on Done returns a
// closed channel; a channel that was obtained earlier stays open, because the response may
// arrive after the read point has expired.
type expiringContext struct {
	context.Context //nolint:containedctx // it is one
	point           readPoint
}

func (c expiringContext) Done() <-chan struct{} {
	if c.point.checkFresh() != nil {
		return elapsed
	}
	return c.Context.Done()
}

func (c expiringContext) Err() error {
	if err := c.Context.Err(); err != nil {
		return err
	}
	return c.point.checkFresh()
}

// elapsed is a closed channel.
var elapsed = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// WrappedRoundTripper implements the RoundTripperWrapper interface of apimachinery, for
// callers that close idle connections.
func (g stalenessGuard) WrappedRoundTripper() http.RoundTripper { return g.RoundTripper }
