package api

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestUnwantedBodiesAreNotAskedFor checks that a request is rejected before its body is
// sent.
func TestUnwantedBodiesAreNotAskedFor(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	const huge, ann = 99999999999999, "X-User: ann\r\n"
	upload := "PUT /uploads/" + sumOf("x")
	for _, tt := range []struct {
		name, route, headers string
		length, code         int
	}{
		{"an upload of nobody", upload, "", 80 << 20, 401},
		{"a huge upload", upload, ann, huge, 413},
		{"a batch of nobody", "POST /tasks/batch", "", 1 << 20, 401},
		{"a batch of another type", "POST /tasks/batch", ann + "Content-Type: text/plain\r\n", 1 << 20, 415},
		{"a huge task", "POST /tasks/submit", ann, huge, 413},
		{"a huge body of nobody", "POST /tasks/stop", "", huge, 401},
		{"a task of nobody", "POST /tasks/submit", "", 100 << 10, 401},
		{"a small task of nobody", "POST /tasks/submit", "", 9, 401},
	} {
		for _, expects := range []string{"", "Expect: 100-continue\r\n"} {
			conn := s.dial()
			request := fmt.Sprintf("%s HTTP/1.1\r\nHost: localhost\r\n%s%sContent-Length: %d\r\n\r\n", tt.route, tt.headers, expects, tt.length)
			if expects == "" {
				request += strings.Repeat(" ", 1<<20) // the rest of the body would follow only after the response
			}
			go func() { _, _ = io.WriteString(conn, request) }()
			got, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s, %q: %v", tt.name, expects, err)
			}
			if got.StatusCode != tt.code || !got.Close && tt.length > bufferedBody {
				t.Errorf("%s, %q: %d, closed %v, want %d", tt.name, expects, got.StatusCode, got.Close, tt.code)
			}
			_ = conn.Close()
		}
	}
}

// TestWantedBodiesAreAskedFor checks that the server requests a body with "100 Continue",
// whatever its length and encoding.
func TestWantedBodiesAreAskedFor(t *testing.T) {
	t.Parallel()
	s, _ := stored(t, nil)
	content := noise(300 << 10)
	chunks := fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(content), content)
	upload := "PUT /uploads/" + sumOf(content)
	for name, tt := range map[string]struct{ route, end, body string }{
		"with a length": {upload, fmt.Sprintf("Content-Length: %d\r\n", len(content)), content},
		"in chunks":     {upload, "Transfer-Encoding: chunked\r\n", chunks},
		"a small task":  {"POST /tasks/submit", "Content-Length: 14\r\n", `{"run":"true"}`},
	} {
		head := tt.route + " HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nExpect: 100-continue\r\n" + tt.end + "\r\n"
		got := s.raw(head, tt.body, head, tt.body)
		if got[0].StatusCode != 100 || got[1].StatusCode != 200 || got[2].StatusCode != 100 || got[3].StatusCode != 200 {
			t.Errorf("%s: %d, %d %s, %d, %d %s", name, got[0].StatusCode, got[1].StatusCode, got[1].body, got[2].StatusCode, got[3].StatusCode, got[3].body)
		}
	}
	for _, expects := range []string{"7", "-1", "100-Continue", "something"} {
		a := s.raw("PUT /uploads/" + sumOf("x") + " HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nContent-Length: 1\r\nExpect: " + expects + "\r\n\r\nx")[0]
		if a.StatusCode != 200 {
			t.Errorf("Expect: %s: %d %s", expects, a.StatusCode, a.body)
		}
	}
}
