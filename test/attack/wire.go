package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"syscall"
	"time"
)

// An answer is the first response of the server, and the state of the connection.
type answer struct {
	code    int
	header  http.Header
	body    []byte
	raw     []byte // all received bytes
	answers int
	closed  bool // the server closed the connection
	err     error
}

func (a answer) String() string {
	if a.err != nil && a.answers == 0 {
		return fmt.Sprintf("no answer: %v", a.err)
	}
	state := "open"
	if a.closed {
		state = "closed"
	}
	return fmt.Sprintf("%d, %d answers, connection %s, %s", a.code, a.answers, state, a.body)
}

// A request is a request of a well-behaved client. header is name, value, name, value, ...
type request struct {
	method, path string
	body         string
	header       []string
}

func (r request) String() string {
	return fmt.Sprintf("%s %s %q %s", r.method, r.path, r.header, r.body)
}

// browser follows no redirects and asks for no compression.
var browser = &http.Client{
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	Transport:     &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
}

// send sends a request and reads the answer.
func (s *server) send(ctx context.Context, r request) answer {
	q, err := http.NewRequestWithContext(ctx, r.method, s.url+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{err: err}
	}
	if r.body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(r.header); i += 2 {
		switch name, value := r.header[i], r.header[i+1]; name {
		case "Host":
			q.Host = value
		case "Content-Type":
			q.Header.Set(name, value)
		default:
			q.Header.Add(name, value)
		}
	}
	response, err := browser.Do(q)
	if err != nil {
		return answer{err: err, closed: errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	head, _ := httputil.DumpResponse(response, false)
	return answer{response.StatusCode, response.Header, body, append(head, body...), 1, false, err}
}

// exchange sends these bytes, with the server's address in place of {host}, and reads up to
// three answers.
func (s *server) exchange(ctx context.Context, text string) (a answer) {
	conn, err := dial(ctx, s.address)
	if err != nil {
		return answer{err: err}
	}
	defer conn.Close()
	go func() { _, _ = io.WriteString(conn, strings.ReplaceAll(text, "{host}", s.address)) }()
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(conn, &raw))
	for a.answers < 3 {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			a.closed = ended(err)
			a.err = err
			break
		}
		body, err := io.ReadAll(response.Body)
		if a.answers++; a.answers == 1 {
			a.code, a.header, a.body = response.StatusCode, response.Header, body
		}
		if err != nil || !response.Close && a.answers > strings.Count(text, " HTTP/")-1 {
			break // no other answer is expected
		}
	}
	a.raw = raw.Bytes()
	return a
}

// dial connects to an address. When ctx ends, reads and writes time out.
func dial(ctx context.Context, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err == nil {
		context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	}
	return conn, err
}

// ended reports whether reading failed for any other reason than a timeout.
func ended(err error) bool {
	var timeout net.Error
	return !errors.As(err, &timeout) || !timeout.Timeout()
}

// call is an attack by one request of a well-behaved client.
func call(name string, at mode, r request, right want) attack {
	return attack{name: name, want: right.text, try: func(ctx context.Context, w *environment) result {
		s, err := w.serve(ctx, at)
		if err != nil {
			return result{got: err.Error()}
		}
		a := s.send(ctx, r)
		return result{sent: r.String(), got: a.String(), held: right.holds(a)}
	}}
}

// raw is an attack by bytes that no well-behaved client sends.
func raw(name string, at mode, text string, right want) attack {
	return attack{name: name, want: right.text, try: func(ctx context.Context, w *environment) result {
		s, err := w.serve(ctx, at)
		if err != nil {
			return result{got: err.Error()}
		}
		a := s.exchange(ctx, text)
		return result{sent: text, got: a.String(), held: right.holds(a)}
	}}
}
