// Package client is the HTTP client of the API server. The client uses the types of package
// task. The CLI and the tests use the client, and any Go program may use it.
package client

import (
	"bytes"
	"cmp"
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
	"sync/atomic"
	"time"

	"k8s-cli/pkg/client/account"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	timeout        = 30 * time.Second // longest wait for a complete response, except for logs
	connectTimeout = 10 * time.Second // longest wait for a connection, also for logs
	connections    = 100              // idle connections to the server, for programs that send many concurrent requests
)

// A Client sends requests to one server in the name of one user. A Client is safe for
// concurrent use.
type Client struct {
	url     string
	user    string
	timeout time.Duration
	pause   time.Duration // pause before a broken event stream reconnects
	http    *http.Client
	token   func(context.Context) (string, error) // nil: the client sends the user name without a proof
	plain   bool                                  // the client may send the token over plain HTTP
	random  func() float64                        // returns a number in [0, 1), for jitter
	reached atomic.Bool                           // the server has answered this client once
}

// New returns a client of the server at url. The prefix http:// may be missing; an empty url means
// http://localhost:8000. New opens no connection.
func New(url, user string) *Client {
	url = cmp.Or(url, account.DefaultURL)
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

// WithToken makes the client send a token instead of the user name. The client calls token
// for each request. WithToken returns c.
func (c *Client) WithToken(token func(context.Context) (string, error)) *Client {
	c.token = token
	return c
}

// WrapTransport replaces the transport of the client by the transport that around returns for the
// previous transport. WrapTransport returns c.
func (c *Client) WrapTransport(around func(http.RoundTripper) http.RoundTripper) *Client {
	c.http.Transport = around(c.http.Transport)
	return c
}

// Close closes the idle connections. The client stays usable.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Health returns nil if the server answers and is an API server of k8s-cli.
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

// A request describes one HTTP request to the server.
type request struct {
	method string
	path   string // escaped
	query  url.Values
	body   any          // sent as JSON; nil for none
	key    string       // Idempotency-Key; empty for none
	same   bool         // the request is idempotent without a key
	accept string       // media type of the response; empty for any
	last   string       // Last-Event-ID; empty for none
	resume string       // position at which to resume a log; empty for requests other than logs
	from   int64        // first byte of the response; 0 means the whole object
	etag   string       // of the object to which from belongs
	file   io.Reader    // body that is sent unchanged; nil for none
	size   int64        // size of file, in bytes
	stream bool         // the response is a stream, so proxies must not compress it
	header *http.Header // receives the header of the response; nil if it does not matter
}

// newKey returns an Idempotency-Key. An operation has one key for all attempts: the server
// treats requests with the same key as one request.
func newKey() string { return rand.Text() }

// do sends r and decodes the response into answer. do sends a request that is safe to
// repeat again if the connection breaks or if the server asks for a retry, and a read also
// while a server that has answered before restarts, until the client's timeout.
func (c *Client) do(ctx context.Context, r request, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.timeout, fmt.Errorf("no answer within %s", c.timeout))
	defer cancel()
	for attempt := 0; ; attempt++ {
		err := c.once(ctx, r, answer)
		wait, again := c.repeats(r, err, attempt)
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

// once sends r once and decodes the response into answer, unless answer is nil. A []byte receives
// the body unchanged.
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
	if r.header != nil {
		*r.header = response.Header
	}
	switch raw := answer.(type) {
	case nil:
		return nil
	case *[]byte:
		*raw = body
		return nil
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("the answer of %s to %s %s is not as documented: %w", c.url, r.method, r.path, err)
	}
	return nil
}

// send returns the response to r if the status is 2xx. The caller closes the body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	q, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	response, err := c.http.Do(q)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	c.reached.Store(true)
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
	if q.URL.Host == "" {
		return nil, fmt.Errorf("the URL of the API server is not usable: %q has no host; an example is %s", c.url, account.DefaultURL)
	}
	user, proof, err := c.who(ctx)
	if err != nil {
		return nil, err
	}
	headers := map[string]string{
		"X-User": user, "Authorization": proof, "Idempotency-Key": r.key, "Accept": r.accept, "Last-Event-ID": r.last, resumeHeader: r.resume,
	}
	if r.resume != "" {
		headers[pingHeader] = "true"
	}
	if r.from > 0 {
		headers["Range"], headers["If-Range"] = fmt.Sprintf("bytes=%d-", r.from), r.etag
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

// who returns the user name, or the credentials that prove the user.
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

// objectPath returns /kind/id or /kind/id/verb. objectPath rejects an id that does not fit into one
// path segment: "/tasks//stop" would be a different route.
func objectPath(kind task.Kind, id string, verb ...string) (string, error) {
	if strings.Trim(id, ".") == "" || strings.ContainsAny(id, `/\`) {
		return "", problem.New(problem.NotFound, strconv.Quote(id)+" is not the id of a "+string(kind))
	}
	return strings.Join(append([]string{"", string(kind) + "s", url.PathEscape(id)}, verb...), "/"), nil
}

func allUsersQuery(all bool) url.Values {
	if !all {
		return nil
	}
	return url.Values{"all_users": {"true"}}
}

// unreachable returns the error of a request without a response. If the caller canceled the
// request, the error is the cause of the cancellation.
func (c *Client) unreachable(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, context.Canceled):
		return cause
	case cause != nil:
		err = cause
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the message below already names the server
	}
	return &Error{Detail: fmt.Sprintf("cannot reach the API server at %s: %v", c.url, err), cause: err}
}
