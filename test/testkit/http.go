package testkit

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// A Request is an HTTP request to a server, as a well-behaved client sends it.
type Request struct {
	Method, URL string
	Body        []byte   // JSON; nil for none
	Header      []string // name, value, name, value, ...
}

// An Answer is a response whose body was read.
type Answer struct {
	Code   int
	Header http.Header
	Body   []byte
}

// String returns the status code and the body.
func (a Answer) String() string { return fmt.Sprintf("%d %s", a.Code, a.Body) }

// Send sends a request and reads the answer.
func Send(ctx context.Context, client *http.Client, r Request) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, bytes.NewReader(r.Body))
	if err != nil {
		return Answer{}, err
	}
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(r.Header); i += 2 {
		request.Header.Set(r.Header[i], r.Header[i+1])
	}
	response, err := client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	return Read(response)
}

// Read reads a response to its end.
func Read(response *http.Response) (Answer, error) {
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		err = fmt.Errorf("read the answer: %w", err)
	}
	return Answer{response.StatusCode, response.Header, body}, err
}

// A Health is the body of /readyz.
type Health struct {
	Ready    bool     `json:"ready"`
	Leading  bool     `json:"leading"`
	Degraded []string `json:"degraded"`
}

var asker = &http.Client{Timeout: 2 * time.Second}

// HealthOf returns the health of a server, and the zero Health if the server does not
// answer.
func HealthOf(ctx context.Context, url string) (h Health) {
	if a, err := Send(ctx, asker, Request{Method: http.MethodGet, URL: url + "/readyz"}); err == nil {
		_ = json.Unmarshal(a.Body, &h)
	}
	return h
}

// FreeAddress returns an address of this machine at which no process listens.
func FreeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
