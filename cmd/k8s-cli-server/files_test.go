package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s-cli/test/testkit/must"
)

// behind is the API server behind the listener for files. It records the requests that
// reach it.
type behind struct {
	mu      sync.Mutex
	reached []string
	body    string

	received atomic.Int64 // bytes of the body of the last request
}

func (b *behind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received, _ := io.Copy(io.Discard, r.Body)
	b.received.Store(received)
	b.mu.Lock()
	b.reached = append(b.reached, r.Method+" "+r.RequestURI+" "+r.Header.Get("Authorization"))
	b.mu.Unlock()
	if r.Method == http.MethodPut {
		_, _ = io.WriteString(w, "stored")
		return
	}
	w.Header().Set("ETag", `"sum"`)
	w.Header().Set("Content-Length", fmt.Sprint(len(b.body)))
	_, _ = io.WriteString(w, b.body)
}

func (b *behind) take() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	reached := b.reached
	b.reached = nil
	return reached
}

// serveBehind starts a listener for files in front of an API server, and returns the API
// server and the address of the listener.
func serveBehind(t *testing.T) (*behind, string) {
	t.Helper()
	b := &behind{body: strings.Repeat("archive ", 100_000)}
	main, err := listen("--listen", "127.0.0.1:0", nil)
	must.Succeed(t, err)
	files, err := listen("--files-listen", "127.0.0.1:0", nil)
	must.Succeed(t, err)
	api := &http.Server{Handler: b}
	ended := make(chan error, 2)
	go func() { ended <- api.Serve(main) }()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { ended <- serveFiles(ctx, files, main.dial, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("serveFiles ended with %v", err)
		}
		_ = api.Close()
		if err := <-ended; err == nil {
			t.Error("the server behind ended without an error")
		}
	})
	return b, files.Addr().String()
}

// exchange sends a raw request and returns the status, the header and the body of the
// response.
func exchange(t *testing.T, address, request string) (int, http.Header, string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	must.Succeed(t, err)
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	method, _, _ := strings.Cut(request, " ")
	answer, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%.160q: %v", request, err)
	}
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatalf("%.160q: %v", request, err)
	}
	return answer.StatusCode, answer.Header, string(body)
}

func TestFilesListenerServesFilesAlone(t *testing.T) {
	b, address := serveBehind(t)
	sum := strings.Repeat("0a", 32)
	path := "/tasks/lex9x817/files/" + sum
	for _, request := range []string{
		"GET / HTTP/1.1", "GET /healthz HTTP/1.1", "GET /readyz HTTP/1.1", "GET /metrics HTTP/1.1", "GET /auth HTTP/1.1", "GET /docs HTTP/1.1",
		"GET /tasks HTTP/1.1", "GET /tasks/lex9x817 HTTP/1.1", "GET /tasks/lex9x817/logs HTTP/1.1", "GET /uploads/" + sum + " HTTP/1.1",
		"POST /tasks/submit HTTP/1.1", "POST " + path + " HTTP/1.1", "PUT " + path + " HTTP/1.1", "DELETE " + path + " HTTP/1.1", "OPTIONS * HTTP/1.1", "CONNECT api:8000 HTTP/1.1",
		"GET " + path + "/ HTTP/1.1", "GET " + path + "?x=1 HTTP/1.1", "GET /" + path + " HTTP/1.1", "GET " + path + "/../../../../tasks HTTP/1.1",
		"GET /tasks/../tasks/lex9x817/files/" + sum + " HTTP/1.1", "GET /tasks/lex9x817%2flogs/files/" + sum + " HTTP/1.1", "GET /tasks/lex9x817/files/" + sum[1:] + " HTTP/1.1",
		"GET http://api/tasks HTTP/1.1", "GET http://api" + path + " HTTP/1.1",
		"GET /tasks/lex9x817/outputs/0 HTTP/1.1", "POST /tasks/lex9x817/outputs/0 HTTP/1.1", "PUT /tasks/lex9x817/outputs/x HTTP/1.1", "PUT /tasks/lex9x817/outputs/0/ HTTP/1.1",
		"PUT /tasks/lex9x817/outputs/0?pod=a-1&x=1 HTTP/1.1", "PUT /tasks/lex9x817/outputs/0?pod=a-1&missing=0&x=1 HTTP/1.1", "PUT /uploads/" + sum + " HTTP/1.1",
	} {
		code, _, body := exchange(t, address, request+"\r\nHost: files\r\nX-User: ann\r\n\r\n")
		if code != http.StatusNotFound || !strings.Contains(body, `"detail"`) {
			t.Errorf("%s: %d %s", request, code, body)
		}
	}
	if reached := b.take(); len(reached) > 0 {
		t.Errorf("the server behind was asked %q", reached)
	}
	for _, request := range []string{
		"GET " + path + " HTTP/1.1\r\nHost: files", "GET " + path + " HTTP/1.0", "HEAD " + path + " HTTP/1.1\r\nHost: files",
		"GET " + path + " HTTP/1.1\r\nHost: files\r\nContent-Length: 5\r\nConnection: close",
	} {
		code, header, body := exchange(t, address, request+"\r\nAuthorization: Bearer token\r\n\r\n")
		method, _, _ := strings.Cut(request, " ")
		if want := map[string]string{"GET": b.body}[method]; code != http.StatusOK || header.Get("ETag") != `"sum"` || body != want {
			t.Errorf("%q: %d, %d bytes, %v", request, code, len(body), header)
		}
		if reached := b.take(); len(reached) != 1 || reached[0] != method+" "+path+" Bearer token" {
			t.Errorf("%q reached the server as %q", request, reached)
		}
	}
}

// TestFilesListenerHidesNoRequest checks that a request in the body of another request
// does not reach the API server.
func TestFilesListenerHidesNoRequest(t *testing.T) {
	b, address := serveBehind(t)
	path := "/tasks/lex9x817/files/" + strings.Repeat("0a", 32)
	hidden := "GET /tasks HTTP/1.1\r\nHost: files\r\n\r\n"
	for _, request := range []string{
		"GET " + path + " HTTP/1.1\r\nHost: files\r\n\r\n" + hidden,
		fmt.Sprintf("GET %s HTTP/1.1\r\nHost: files\r\nContent-Length: %d\r\n\r\n%s", path, len(hidden), hidden),
		fmt.Sprintf("GET %s HTTP/1.1\r\nHost: files\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", path, len(hidden), hidden),
	} {
		exchange(t, address, request)
		if reached := b.take(); len(reached) != 1 || !strings.HasPrefix(reached[0], "GET "+path) {
			t.Errorf("%.150q reached the server as %q", request, reached)
		}
	}
}

// TestFilesListenerReceivesOutputs checks that the outputs of a node reach the API server, also if
// they are chunked, and that the answer reaches the node.
func TestFilesListenerReceivesOutputs(t *testing.T) {
	b, address := serveBehind(t)
	path := "/tasks/lex9x817/outputs/12?pod=d768d826-a9ce"
	content := strings.Repeat("outputs ", 10_000)
	for _, request := range []string{
		fmt.Sprintf("PUT %s HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer token\r\nContent-Length: %d\r\n\r\n%s", path, len(content), content),
		fmt.Sprintf("PUT %s&missing=0,1 HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer token\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", path, len(content), content),
		fmt.Sprintf("PUT /tasks/lex9x817/outputs/12?missing=0,1 HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer token\r\nContent-Length: %d\r\n\r\n%s", len(content), content),
		fmt.Sprintf("PUT %s&failed=size HTTP/1.1\r\nHost: files\r\nAuthorization: Bearer token\r\nContent-Length: 0\r\n\r\n", path),
	} {
		code, _, body := exchange(t, address, request)
		target := strings.Fields(request)[1]
		if reached := b.take(); code != http.StatusOK || body != "stored" || len(reached) != 1 || reached[0] != "PUT "+target+" Bearer token" {
			t.Errorf("%.120q: %d, reached the server as %q", request, code, reached)
		}
		want := len(content)
		if strings.Contains(target, "failed") {
			want = 0
		}
		if got := b.received.Load(); got != int64(want) {
			t.Errorf("%.120q: the server got %d bytes, want %d", request, got, want)
		}
	}
}
