// Package client speaks to the API server over HTTP, in the words of package
// task. It is what the CLI and the tests use, and any Go program may.
package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

const (
	timeout        = 30 * time.Second // longest wait for a whole answer, logs excepted
	connectTimeout = 10 * time.Second // longest wait for a connection, logs included
	connections    = 100              // kept open to the server, for programs that ask much at once
)

// A Client asks one server in the name of one user. Any number of goroutines
// may use it at once.
type Client struct {
	url     string
	user    string
	timeout time.Duration
	pause   time.Duration // before an event stream that broke off is taken up again
	http    *http.Client
	token   func(context.Context) (string, error) // nil: the user is named, not proven
	plain   bool                                  // the token may be sent over plain HTTP
	random  func() float64                        // in [0, 1), for jitter
}

// New returns a client of the server at url, which may lack its http://. It
// connects to nothing before it is asked something.
func New(url, user string) *Client {
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	dialer := &net.Dialer{Timeout: connectTimeout}
	transport := &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSHandshakeTimeout: connectTimeout,
		MaxIdleConnsPerHost: connections,
		IdleConnTimeout:     90 * time.Second,
		ForceAttemptHTTP2:   true,
	}
	return &Client{
		url:     strings.TrimRight(url, "/"),
		user:    user,
		timeout: timeout,
		pause:   listenPause,
		http:    &http.Client{Transport: transport, CheckRedirect: refuseRedirect},
		random:  mathrand.Float64,
	}
}

// WithToken makes the client show a token in place of the user's name, which token
// returns for each request. It returns c.
func (c *Client) WithToken(token func(context.Context) (string, error)) *Client {
	c.token = token
	return c
}

// Wrap lets something else send the client's requests, by what it has sent them
// with so far. It returns c.
func (c *Client) Wrap(around func(http.RoundTripper) http.RoundTripper) *Client {
	c.http.Transport = around(c.http.Transport)
	return c
}

// Close gives up the connections that are not in use. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Health reports whether the server is there and is the launcher's.
func (c *Client) Health(ctx context.Context) error {
	var health struct {
		Status  string `json:"status"`
		Service string `json:"service"`
	}
	if err := c.do(ctx, request{method: http.MethodGet, path: "/"}, &health); err != nil {
		return err
	}
	if health.Status != "ok" || health.Service != "k8s-cli-api" {
		return fmt.Errorf("%s is not a healthy API server of k8s-cli: it says status %q, service %q", c.url, health.Status, health.Service)
	}
	return nil
}

// A request is one question to the server.
type request struct {
	method string
	path   string // escaped
	query  url.Values
	body   any       // sent as JSON; nil for none
	key    string    // Idempotency-Key; empty for none
	same   bool      // sending it twice does what sending it once does
	accept string    // type of the answer; empty for any
	last   string    // Last-Event-ID; empty for none
	resume string    // place of a log to read on from; empty for no log
	file   io.Reader // sent as it is; nil for none
	size   int64     // of file, in bytes
	stream bool      // the answer is passed on as it comes, so nothing on the way may compress it
}

// newKey returns the Idempotency-Key of one operation. It is drawn once per
// operation, not per request: the server takes a request that is repeated under
// its key for the same one.
func newKey() string { return rand.Text() }

// do sends r and decodes the answer. A request that is safe to repeat is
// repeated when its connection breaks or the server asks for it, for as long as
// an answer may take.
func (c *Client) do(ctx context.Context, r request, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %s", c.timeout))
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, r, answer)
		wait, again := r.repeats(err, attempt)
		wait = c.jittered(wait)
		if deadline, _ := ctx.Deadline(); !again || time.Until(deadline) < wait {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return err
		}
	}
}

// once sends r a single time and decodes the answer, unless that is nil.
func (c *Client) once(ctx context.Context, r request, answer any) error {
	response, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("the answer of %s to %s %s is not as documented: %w", c.url, r.method, r.path, err)
	}
	return nil
}

// send returns the answer to r if it is a success. The caller closes its body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	q, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(q)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		defer response.Body.Close()
		return nil, c.refusal(response)
	}
	return response, nil
}

func (c *Client) request(ctx context.Context, r request) (*http.Request, error) {
	var body io.Reader
	if r.body != nil {
		data, err := task.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode the body of %s: %w", r.path, err)
		}
		body = bytes.NewReader(data)
	}
	if r.file != nil {
		body = r.file
	}
	address := c.url + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	q, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("the URL of the API server is not usable: %w", err)
	}
	user, proof, err := c.who(ctx)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{
		"X-User": user, "Authorization": proof, "Idempotency-Key": r.key, "Accept": r.accept, "Last-Event-ID": r.last, resumeHeader: r.resume,
	}
	for name, value := range headers {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	switch {
	case r.file != nil:
		q.Header.Set("Content-Type", "application/gzip")
		q.ContentLength = r.size
	case body != nil:
		q.Header.Set("Content-Type", "application/json")
	}
	if r.stream {
		q.Header.Set("Accept-Encoding", "identity")
	}
	return q, nil
}

// who returns what says who asks: a name, or what proves it.
func (c *Client) who(ctx context.Context) (user, proof string, err error) {
	if c.token == nil {
		return c.user, "", nil
	}
	if !c.plain && !IsConfidential(c.url) {
		return "", "", fmt.Errorf("%w, and none was sent to %s: use an https:// URL", ErrPlainHTTP, c.url)
	}
	token, err := c.token(ctx)
	if err != nil {
		return "", "", err
	}
	return "", "Bearer " + token, nil
}

// path returns /kind/id, or /kind/id/verb. An id that a path cannot hold is no
// id of ours: it is not sent, since "/tasks//stop" would be another question.
func path(kind task.Kind, id string, verb ...string) (string, error) {
	if strings.Trim(id, ".") == "" || strings.ContainsAny(id, `/\`) {
		return "", task.Error(task.ErrNotFound, strconv.Quote(id)+" is not the id of a "+string(kind))
	}
	return strings.Join(append([]string{"", string(kind) + "s", url.PathEscape(id)}, verb...), "/"), nil
}

func allUsersQuery(all bool) url.Values {
	if !all {
		return nil
	}
	return url.Values{"all_users": {"true"}}
}

// unreachable says that err kept the server's answer away, unless it was the
// caller who no longer wanted it.
func (c *Client) unreachable(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.Canceled):
		return cause
	case cause != nil:
		err = cause
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // without the method and the URL, which the sentence has
	}
	return &Error{Detail: fmt.Sprintf("cannot reach the API server at %s: %v", c.url, err), cause: err}
}
