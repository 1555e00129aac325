package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"k8s-cli/pkg/task"
)

func TestNoRedirectIsFollowed(t *testing.T) {
	var shown atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		shown.Add(1)
		_, _ = io.WriteString(w, "{}")
	}))
	defer elsewhere.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		c := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+r.URL.Path, code) })
		token := serve(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, elsewhere.URL+r.URL.Path, code) })
		token.WithToken(func(context.Context) (string, error) { return "secret", nil })
		for name, err := range map[string]error{
			"a read":       second(c.Whoami(t.Context())),
			"a token":      second(token.Whoami(t.Context())),
			"a submission": second(c.Submit(t.Context(), task.Spec{Run: "x", Secrets: map[string]string{"PW": "hush"}})),
			"a log":        c.Logs(t.Context(), "a", LogOptions{}, io.Discard),
			"events":       second(c.Subscribe(t.Context(), EventSource{})),
			"an upload": c.Upload(t.Context(), "sum", 1, func() (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader("x")), nil
			}),
		} {
			if err == nil || !strings.Contains(err.Error(), " redirects to "+elsewhere.URL+"/") {
				t.Errorf("%d, %s: %v", code, name, err)
			}
		}
	}
	if n := shown.Load(); n != 0 {
		t.Errorf("another server got %d requests", n)
	}
}

func second[T any](_ T, err error) error { return err }

func TestConfidential(t *testing.T) {
	for address, want := range map[string]bool{
		"https://api.example.com":        true,
		"HTTPS://api.example.com":        true,
		"http://localhost:8000":          true,
		"localhost:8000":                 true,
		"http://127.0.0.1:8000/prefix":   true,
		"127.1.2.3":                      true,
		"http://[::1]:8000":              true,
		"http://api.example.com":         false,
		"api.example.com":                false,
		"http://10.0.0.1:8000":           false,
		"http://127.0.0.1.example.com":   false,
		"http://localhost@example.com":   false,
		"http://localhost.example.com":   false,
		"http://[::ffff:10.0.0.1]:8000":  false,
		"ftp://localhost":                false,
		"file:///etc/passwd":             false,
		"https://":                       false,
		"http://127.0.0.1:8000\x00/path": false,
	} {
		if got := IsConfidential(address); got != want {
			t.Errorf("%q: %t", address, got)
		}
	}
}

// TestNoTokenOverPlainHTTP checks that the client does not even obtain a token that it may
// not send.
func TestNoTokenOverPlainHTTP(t *testing.T) {
	var sent, asked atomic.Int32
	fake := func(http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			sent.Add(1)
			return answer(http.StatusOK, "{}"), nil
		})
	}
	c := New("http://api.example.com", "").WrapTransport(fake).WithToken(func(context.Context) (string, error) {
		asked.Add(1)
		return "secret", nil
	})
	if _, err := c.Whoami(t.Context()); !errors.Is(err, ErrPlainHTTP) || sent.Load()+asked.Load() != 0 {
		t.Errorf("sent %d, asked for %d, %v", sent.Load(), asked.Load(), err)
	}
	if _, err := c.AllowPlainHTTP().Whoami(t.Context()); err != nil || sent.Load() != 1 {
		t.Errorf("where it is allowed: sent %d, %v", sent.Load(), err)
	}
	if _, err := New("http://api.example.com", "ann").WrapTransport(fake).Whoami(t.Context()); err != nil || sent.Load() != 2 {
		t.Errorf("a name: sent %d, %v", sent.Load(), err)
	}
}

// A roundTrip is an http.RoundTripper that replaces a server.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// over returns a client whose requests f answers.
func over(f roundTrip) *Client {
	return New("http://server", "ann").WrapTransport(func(http.RoundTripper) http.RoundTripper { return f })
}

// inMemory returns a client of handle without a socket, so that the client runs in a bubble. A
// connection that handle breaks has transferred what handle has flushed.
func inMemory(handle http.HandlerFunc) *Client {
	return over(func(r *http.Request) (*http.Response, error) {
		w, broken := httptest.NewRecorder(), false
		func() {
			defer func() { broken = recover() != nil }()
			handle(w, r)
		}()
		if broken && !w.Flushed {
			return nil, io.EOF
		}
		response := w.Result()
		if broken {
			response.Body = io.NopCloser(io.MultiReader(response.Body, iotest.ErrReader(io.ErrUnexpectedEOF)))
		}
		return response, nil
	})
}

func answer(code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
}
