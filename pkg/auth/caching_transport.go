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
	cacheTTL  = time.Second // between two questions about the same thing
	maxAnswer = 1 << 20     // bytes of an issuer's answer
)

// errIssuerUnavailable means that the issuer did not answer, which says nothing about a token.
var errIssuerUnavailable = errors.New("no answer")

// cachingTransport asks an issuer the same thing no more than once a second: whoever sends
// tokens of made-up keys would otherwise have it asked for each.
type cachingTransport struct {
	next http.RoundTripper

	mu        sync.Mutex
	responses map[string]cachedResponse // by URL: those of one issuer, so few
}

type cachedResponse struct {
	at       time.Time
	err      error         // in place of an answer
	response http.Response // without its body
	body     []byte
}

// RoundTrip is called by http.Client.
func (c *cachingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	address := r.URL.String()
	k, ok := c.responses[address]
	if !ok || time.Since(k.at) > cacheTTL || r.Method != http.MethodGet {
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

// fetch returns what the issuer answers now, which may be that it does not.
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
