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
	calmFor   = time.Second // between two questions about the same thing
	maxAnswer = 1 << 20     // bytes of an issuer's answer
)

// errAway means that the issuer did not answer, which says nothing about a token.
var errAway = errors.New("no answer")

// calm asks an issuer the same thing no more than once a second: whoever sends
// tokens of made-up keys would otherwise have it asked for each.
type calm struct {
	next http.RoundTripper

	mu      sync.Mutex
	answers map[string]kept // by URL: those of one issuer, so few
}

type kept struct {
	at       time.Time
	response http.Response // without its body
	body     []byte
}

// RoundTrip is called by http.Client.
func (c *calm) RoundTrip(r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	address := r.URL.String()
	k, ok := c.answers[address]
	if !ok || time.Since(k.at) > calmFor || r.Method != http.MethodGet {
		response, err := c.next.RoundTrip(r)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errAway, err)
		}
		defer response.Body.Close()
		body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errAway, err)
		}
		if response.StatusCode >= http.StatusInternalServerError {
			return nil, fmt.Errorf("%w: it says %s", errAway, response.Status)
		}
		k = kept{time.Now(), *response, body}
		c.answers[address] = k
	}
	again := k.response
	again.Request, again.Body, again.ContentLength = r, io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return &again, nil
}
