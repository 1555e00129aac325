package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/api/framing"
)

// exchange sends text on one connection. exchange returns all responses until the server
// closes the connection, most responses at most.
func (s *served) exchange(text string, most int) (answers []answered) {
	s.t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		s.t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(testTimeout))
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for len(answers) < most {
		response, err := http.ReadResponse(in, nil)
		if err != nil {
			return answers
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			s.t.Fatal(err)
		}
		answers = append(answers, answered{response, string(body)})
	}
	return answers
}

// TestMalformedChunksAreRefused checks that an ambiguous chunk line ends the connection.
// Otherwise a proxy could forward a hidden request in the name of another user.
func TestMalformedChunksAreRefused(t *testing.T) {
	const (
		second  = "POST /tasks/submit HTTP/1.1\r\nHost: localhost\r\nX-User: ceo\r\nContent-Length: 14\r\n\r\n{\"run\":\"true\"}"
		smuggle = "2;\nxx\r\na5\r\n0\r\n\r\n" + second
	)
	for name, body := range map[string]string{
		"a line feed in the extension":    smuggle,
		"a blank and a line feed":         "2 \nxx\r\n{}\r\n0\r\n\r\n",
		"letters behind the size":         "2zz\r\n{}\r\n0\r\n\r\n",
		"a blank behind the size":         "2 \r\n{}\r\n0\r\n\r\n",
		"a line feed in the last line":    "2\r\n{}\r\n0;\nxx\r\n\r\n",
		"a prefix of hexadecimal":         "0x5\r\n{}\r\n0\r\n\r\n",
		"a sign":                          "+2\r\n{}\r\n0\r\n\r\n",
		"no size":                         "\r\n{}\r\n0\r\n\r\n",
		"16 digits":                       "0000000000000002\r\n{}\r\n0\r\n\r\n",
		"a size beyond any":               "ffffffffffffffff\r\n{}\r\n0\r\n\r\n",
		"a control character":             "2;a=\x01\r\n{}\r\n0\r\n\r\n",
		"a carriage return":               "2;a\rb\r\n{}\r\n0\r\n\r\n",
		"an extension without end":        "2;" + strings.Repeat("x", 1<<10) + "\r\n{}\r\n0\r\n\r\n",
		"a line feed behind the data":     "2\r\n{}\n0\r\n\r\n",
		"other bytes behind the data":     "2\r\n{}XX0\r\n\r\n",
		"a line feed alone":               "2\n{}\r\n0\r\n\r\n",
		"a line feed for a trailer":       "2\r\n{}\r\n0\r\n\n",
		"a trailer":                       "2\r\n{}\r\n0\r\nX-User: ceo\r\n\r\n",
		"a line feed behind the last one": "2\r\n{}\r\n0\n\r\n",
	} {
		for _, path := range []string{"/tasks/submit", "/tasks/stop", "/tasks/batch", "/uploads/" + sumOfNothing} {
			method := "POST"
			if strings.HasPrefix(path, "/uploads") {
				method = "PUT"
			}
			s := serve(t, &fake{})
			answers := s.exchange(method+" "+path+" HTTP/1.1\r\nHost: localhost\r\nX-User: mallory\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"+body+second, 3)
			if len(answers) != 1 {
				t.Errorf("%s at %s: %d answers, want one", name, path, len(answers))
				continue
			}
			answers[0].wantError(t, 400, "")
			if !answers[0].Close || len(s.told()) > 0 {
				t.Errorf("%s at %s: the connection stays open, or something came through: %v", name, path, s.told())
			}
		}
	}
}

func TestWellFormedChunksAreRead(t *testing.T) {
	for name, body := range map[string]string{
		"one":               "e\r\n{\"run\":\"true\"}\r\n0\r\n\r\n",
		"capitals":          "E\r\n{\"run\":\"true\"}\r\n0\r\n\r\n",
		"several":           "1\r\n{\r\n00000000000000D\r\n\"run\":\"true\"}\r\n0000\r\n\r\n",
		"with an extension": "e;name=\"v a l\";x\r\n{\"run\":\"true\"}\r\n0;last\r\n\r\n",
	} {
		s := serve(t, &fake{})
		next := "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\n\r\n"
		answers := s.exchange("POST /tasks/submit HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\nTransfer-Encoding: chunked\r\n\r\n"+body+next, 2)
		if len(answers) != 2 || answers[0].StatusCode != 200 || answers[1].StatusCode != 200 || len(s.told()) != 1 {
			t.Errorf("%s: %v", name, answers)
		}
	}
}

// TestMalformedHeadsAreRefused checks that an invalid header is rejected, and that the
// error does not quote the header.
func TestMalformedHeadsAreRefused(t *testing.T) {
	const secret = "hunter2"
	for _, tt := range []struct {
		name, head string
		code       int
	}{
		{"no Host", "GET /whoami HTTP/1.1\r\n", 400},
		{"two Hosts", "GET /whoami HTTP/1.1\r\nHost: localhost\r\nhost: localhost\r\n", 400},
		{"two Hosts in HTTP/1.0", "GET /whoami HTTP/1.0\r\nHost: localhost\r\nHost: localhost\r\n", 400},
		{"a Host of two", "GET /whoami HTTP/1.1\r\nHost: localhost, other\r\n", 400},
		{"a Host with a path", "GET /whoami HTTP/1.1\r\nHost: localhost/x\r\n", 400},
		{"HTTP/9.9", "GET /whoami HTTP/9.9\r\nHost: localhost\r\n", 505},
		{"HTTP/2.0", "PRI * HTTP/2.0\r\n", 505},
		{"no version", "GET /whoami\r\nHost: localhost\r\n", 400},
		{"a word for a version", "GET /whoami HTTP/x.y\r\nHost: localhost\r\n", 400},
		{"two blanks", "GET  /whoami HTTP/1.1\r\nHost: localhost\r\n", 400},
		{"a blank in the target", "GET /who ami HTTP/1.1\r\nHost: localhost\r\n", 400},
		{"nonsense", "nonsense\r\n", 400},
		{"a blank in front of the colon", "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-User : ann\r\n", 400},
		{"a folded line", "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-Other: a\r\n b\r\n", 400},
		{"a field without a colon", "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-Other\r\n", 400},
		{"a line feed alone", "GET /whoami HTTP/1.1\r\nHost: localhost\nX-Other: a\r\n", 400},
		{"a carriage return alone", "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-Other: a\rb\r\n", 400},
		{"a length in words", "POST /tasks/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: many\r\n", 400},
		{"a length with a sign", "POST /tasks/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: +2\r\n", 400},
		{"a length beyond any", "POST /tasks/stop HTTP/1.1\r\nHost: localhost\r\nContent-Length: 18446744073709551617\r\n", 400},
		{"chunks in HTTP/1.0", "POST /tasks/stop HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n", 400},
		{"a head without end", "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", framing.HeadLimit) + "\r\n", 431},
	} {
		good := "GET /whoami HTTP/1.1\r\nHost: localhost\r\nX-User: ann\r\n\r\n"
		for _, before := range []string{"", good} { // as the first and as a later request of a connection
			s := serve(t, &fake{})
			answers := s.exchange(before+tt.head+"Authorization: Bearer "+secret+"\r\nX-User: ann\r\n\r\n"+good, 3)
			want := 1
			if before != "" {
				want = 2
			}
			if len(answers) != want {
				t.Errorf("%s: %d answers, want %d", tt.name, len(answers), want)
				continue
			}
			last := answers[want-1]
			last.wantError(t, tt.code, "")
			if !last.Close || strings.Contains(last.body, secret) || strings.Contains(last.body, "whoami") {
				t.Errorf("%s: the answer quotes the head, or the connection stays open: %s", tt.name, last.body)
			}
			if last.Header.Get(requestID) == "" || last.Header.Get("Cache-Control") != neverStored || last.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: headers %v", tt.name, last.Header)
			}
		}
	}
}

// TestOtherSitesAreRefused checks that requests from pages of other sites are rejected,
// even if the host name of such a page points at a loopback address.
func TestOtherSitesAreRefused(t *testing.T) {
	for _, tt := range []struct {
		name, method, headers string
		code                  int
	}{
		{"localhost", "POST", "Host: localhost:8000\r\n", 200},
		{"in capitals, with a dot", "GET", "Host: LocalHost.:8000\r\n", 200},
		{"an address", "POST", "Host: 127.0.0.1:8000\r\n", 200},
		{"another loopback address", "POST", "Host: 127.8.9.1\r\n", 200},
		{"IPv6", "POST", "Host: [::1]:8000\r\n", 200},
		{"IPv6 without a port", "POST", "Host: [::1]\r\n", 200},
		{"a name that the operator allows", "POST", "Host: tasks.example.com\r\n", 200},
		{"a name that leads to this machine", "POST", "Host: evil.example\r\n", 421},
		{"the same for a read", "GET", "Host: evil.example:8000\r\n", 421},
		{"a name that looks like it", "POST", "Host: localhost.evil.example\r\n", 421},
		{"a number", "POST", "Host: 2130706433\r\n", 421},
		{"rebinding, as a browser does it", "POST", "Host: evil.example\r\nOrigin: http://evil.example\r\n", 421},
		{"its own page", "POST", "Host: localhost:8000\r\nOrigin: http://localhost:8000\r\n", 200},
		{"a page behind a proxy", "POST", "Host: localhost:8000\r\nOrigin: https://tasks.example.com\r\n", 200},
		{"a page of another port", "POST", "Host: localhost:8000\r\nOrigin: http://localhost:3000\r\n", 403},
		{"a foreign page", "POST", "Host: localhost:8000\r\nOrigin: http://evil.example\r\n", 403},
		{"a foreign page that reads", "GET", "Host: localhost:8000\r\nOrigin: http://evil.example\r\n", 403},
		{"a page of a file", "POST", "Host: localhost:8000\r\nOrigin: null\r\n", 403},
		{"two origins", "POST", "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n", 403},
	} {
		path := map[string]string{"GET": "/whoami", "POST": "/tasks/stop"}[tt.method]
		request := tt.method + " " + path + " HTTP/1.1\r\n" + tt.headers + "X-User: ann\r\nContent-Length: 0\r\n\r\n"
		s := serveWith(t, &fake{}, func(c *Config) { c.Hosts = []string{"Tasks.Example.com"} })
		if got := s.raw(request)[0]; got.StatusCode != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.name, got.StatusCode, got.body, tt.code)
		} else if tt.code != 200 {
			got.wantError(t, tt.code, "--allowed-hosts")
		}
		if refused := tt.code != 200; refused && len(s.told()) > 0 {
			t.Errorf("%s: something came through: %v", tt.name, s.told())
		}
		byToken := serveWith(t, &fake{}, withAuthenticator) // pages of other sites do not know the token
		if got := byToken.raw(strings.Replace(request, "X-User: ann", "Authorization: Bearer bobs", 1))[0]; got.StatusCode != 200 {
			t.Errorf("%s, with a token: %d %s", tt.name, got.StatusCode, got.body)
		}
	}
}

// TestAnswersAreForTheirCallerAlone checks that no cache serves a response to another user,
// and that browsers do not sniff the content type.
func TestAnswersAreForTheirCallerAlone(t *testing.T) {
	for _, byToken := range []bool{false, true} {
		f := &fake{}
		f.answer.ETag, f.answer.Body = `W/"1"`, []byte(`{"tasks":[]}`)
		s := serve(t, f)
		if byToken {
			s = serveWith(t, f, withAuthenticator)
		}
		for _, route := range append([]string{"GET /nowhere", "PUT /tasks", "GET /", "GET /healthz", "GET /docs"}, ofUsers...) {
			method, path, _ := strings.Cut(route, " ")
			for _, headers := range [][]string{
				{"Authorization", "Bearer bobs"},
				{"Authorization", "Bearer bobs", "If-None-Match", `W/"1"`},
				{"Authorization", "Bearer bobs", "Accept-Encoding", "gzip"},
				{"Authorization", "Bearer wrong", userHeader, "-"},
			} {
				got := s.send(method, path, "", headers...)
				stored := got.Header.Get("Cache-Control")
				if stored != neverStored && (got.Header.Get("ETag") == "" || stored != revalidated) {
					t.Errorf("%s with %v: %d may be stored: %q", route, headers, got.StatusCode, stored)
				}
				if vary := strings.Join(got.Header.Values("Vary"), ", "); vary != dependsOn {
					t.Errorf("%s with %v: %d varies by %q", route, headers, got.StatusCode, vary)
				}
				if got.Header.Get("X-Content-Type-Options") != "nosniff" {
					t.Errorf("%s with %v: %d may be sniffed", route, headers, got.StatusCode)
				}
			}
		}
	}
}

// BenchmarkShow requests one task over a connection that stays open.
func BenchmarkShow(b *testing.B) {
	f := &fake{health: Health{Ready: true}}
	f.answer.ETag, f.answer.Body = `W/"1"`, []byte(`{"task_id":"abcdefgh","status":"running"}`)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := f.newServer(Config{})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(b.Context(), listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	in := bufio.NewReader(conn)
	request := "GET /tasks/abcdefgh HTTP/1.1\r\nHost: localhost:8000\r\nUser-Agent: k8s-cli/1.0\r\nX-User: ann@example.com\r\nAccept: application/json\r\nX-Request-Id: 0123456789abcdef\r\n\r\n"
	for b.Loop() {
		f.asked = nil
		if _, err := io.WriteString(conn, request); err != nil {
			b.Fatal(err)
		}
		response, err := http.ReadResponse(in, nil)
		if err != nil || response.StatusCode != 200 {
			b.Fatal(err, response)
		}
		_, _ = io.Copy(io.Discard, response.Body)
	}
	_ = conn.Close()
}
