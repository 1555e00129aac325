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
	err      error         // in place of an answer
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
		k = c.ask(r)
		c.answers[address] = k
	}
	if k.err != nil {
		return nil, k.err
	}
	again := k.response
	again.Request, again.Body, again.ContentLength = r, io.NopCloser(bytes.NewReader(k.body)), int64(len(k.body))
	return &again, nil
}

// ask returns what the issuer answers now, which may be that it does not.
func (c *calm) ask(r *http.Request) kept {
	response, err := c.next.RoundTrip(r)
	if err != nil {
		return kept{at: time.Now(), err: fmt.Errorf("%w: %w", errAway, err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errAway, err)
	case response.StatusCode >= http.StatusInternalServerError:
		err = fmt.Errorf("%w: it says %s", errAway, response.Status)
	}
	return kept{time.Now(), err, *response, body}
}
