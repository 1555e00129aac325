package auth

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	cacheTTL  = time.Second // shortest time between two requests for the same URL
	maxAnswer = 1 << 20     // largest response of an issuer, in bytes
)

// errIssuerUnavailable means that the issuer did not answer. The error says nothing about
// the token.
var errIssuerUnavailable = errors.New("no answer")

// cachingTransport sends a request for the same URL to an issuer at most once a second.
// Without the cache, each token with an unknown key id would cause a request to the issuer.
type cachingTransport struct {
	next http.RoundTripper

	mu        sync.Mutex
	responses map[string]cachedResponse // by URL; one issuer has few URLs
}

type cachedResponse struct {
	at       time.Time
	err      error         // set instead of response
	response http.Response // without the body
	body     []byte
}

// RoundTrip implements http.RoundTripper.
func (c *cachingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		return c.next.RoundTrip(r) // an exchange of a code, which OIDC.codes limits
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	address := r.URL.String()
	k, ok := c.responses[address]
	if !ok || time.Since(k.at) > cacheTTL {
		k = c.fetch(r)
		c.responses[address] = k
	}
	if k.err != nil {
		return nil, k.err
	}
	again := k.response
	again.Request, again.Body, again.ContentLength = r, io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return &again, nil
}

// fetch sends the request to the issuer and returns the response or the error.
func (c *cachingTransport) fetch(r *http.Request) cachedResponse {
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return cachedResponse{at: time.Now(), err: fmt.Errorf("%w: %w", errIssuerUnavailable, err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errIssuerUnavailable, err)
	case response.StatusCode >= http.StatusInternalServerError:
		err = fmt.Errorf("%w: status %s", errIssuerUnavailable, response.Status)
	}
	return cachedResponse{time.Now(), err, *response, body}
}
