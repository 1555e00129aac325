package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

// behindProxy makes a server trust X-User and X-Groups from this machine.
func behindProxy(c *Config) {
	c.Auth = auth.New(auth.UserHeader{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, task.Admins{"group:ops"})
}

// TestMalformedRequestsAreRejected checks that a malformed request ends the connection, so that
// no proxy forwards a hidden request in the name of another user, and that the error does not
// quote the request. Package framing has a test of each rule.
func TestMalformedRequestsAreRejected(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, behindProxy)
	const (
		good   = "GET /whoami HTTP/1.1\r\nHost: x\r\nX-User: ann\r\n\r\n"
		hidden = "POST /tasks/stop HTTP/1.1\r\nHost: x\r\nX-User: root\r\nContent-Length: 0\r\n\r\n"
		rest   = "Authorization: Bearer hunter2\r\nX-User: ann\r\n\r\n0\r\n\r\n" + hidden
		stop   = "POST /tasks/stop HTTP/1.1\r\nHost: x\r\n"
	)
	for _, tt := range []struct {
		head string
		code int
		want string
	}{
		{"HELLO\r\n", 400, "not valid HTTP/1.1"},
		{stop + "X-User : root\r\n", 400, "not valid HTTP/1.1"},
		{"GET /whoami HTTP/9.9\r\nHost: x\r\n", 505, "send HTTP/1.1"},
		{"GET /whoami HTTP/1.1\r\n", 400, "exactly one valid Host field"},
		{stop + "Content-Length: many\r\n", 400, "Content-Length is not a number"},
		{stop + "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n", 400, "conflicting Content-Length"},
		{stop + "X-Long: " + strings.Repeat("x", framing.HeadLimit) + "\r\n", 431, "larger than"},
	} {
		for want, before := range []string{"", good} { // as the first and as a later request of a connection
			answers := s.until(before + tt.head + rest)
			if len(answers) != want+1 {
				t.Errorf("%.60q: %d answers, want %d", tt.head, len(answers), want+1)
				continue
			}
			last := answers[want]
			last.wantError(t, tt.code, tt.want)
			if !last.Close || strings.Contains(last.body, "hunter2") || strings.Contains(last.body, "whoami") {
				t.Errorf("%.60q: the answer quotes the head, or the connection stays open: %s", tt.head, last.body)
			}
			if last.Header.Get(requestID) == "" || last.Header.Get("Cache-Control") != neverStored || last.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%.60q: headers %v", tt.head, last.Header)
			}
		}
	}
	for _, route := range ofUsers {
		for _, named := range []string{"", "X-User: ann\r\n", "X-User: ann\r\nTrailer: X-Groups\r\n"} {
			for body, want := range map[string]string{
				"2;\nxx\r\na5\r\n0\r\n\r\n":                  "a chunk of the body is malformed",
				"0\r\nX-User: root\r\nX-Groups: ops\r\n\r\n": "trailers are not supported",
			} {
				answers := s.until(route + "?all_users=true HTTP/1.1\r\nHost: x\r\n" + named + "Transfer-Encoding: chunked\r\n\r\n" + body + hidden)
				if len(answers) != 1 || !answers[0].Close || strings.Contains(answers[0].body, "root") {
					t.Errorf("%s with %q and %q: %+v", route, named, body, answers)
				} else if named != "" || answers[0].StatusCode != 401 { // some routes read the body only of users
					answers[0].wantError(t, 400, want)
				}
			}
		}
	}
	if told, reads := s.told(), s.reads.Load(); len(told) > 0 || reads > 0 {
		t.Errorf("something came through: commands %v, %d reads", told, reads)
	}
}

// What follows a handshake that the server refuses must be no request of its own: a proxy that does not
// read the response forwards the frames of a WebSocket.
func TestRefusedUpgradesCloseTheConnection(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, behindProxy)
	const (
		upgrade = "Host: x\r\nX-User: ann\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
		hidden  = "POST /tasks/stop HTTP/1.1\r\nHost: x\r\nX-User: root\r\nContent-Length: 0\r\n\r\n"
	)
	for _, line := range []string{"GET /whoami", "GET /tasks/lex9x817/exec?command=ls", "GET /nothing", "GET /tasks"} {
		if answers := s.until(line + " HTTP/1.1\r\n" + upgrade + hidden); len(answers) != 1 || !answers[0].Close {
			t.Errorf("%s: %+v", line, answers)
		}
	}
	if told := s.told(); len(told) > 0 {
		t.Errorf("a hidden request came through: %v", told)
	}
}

func TestWellFormedChunksAreRead(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	answers := s.raw("POST /tasks/submit HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nTransfer-Encoding: chunked\r\n\r\n"+
		"1;name=\"v a l\";x\r\n{\r\n00000000000000D\r\n\"run\":\"true\"}\r\n0000;last\r\n\r\n", "GET /whoami HTTP/1.1\r\nHost: x\r\nX-User: ann\r\n\r\n")
	if answers[0].StatusCode != 200 || answers[1].StatusCode != 200 || len(s.told()) != 1 {
		t.Errorf("%v, commands %v", answers, s.told())
	}
}

// TestOtherSitesAreRefused checks that requests from pages of other sites are rejected,
// even if the host name of such a page points at a loopback address.
func TestOtherSitesAreRefused(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, func(c *Config) { c.Hosts = []string{"Tasks.Example.com"} })
	byToken := serveWith(t, &fake{}, withAuthenticator)
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
		if got := s.raw(request)[0]; got.StatusCode != tt.code {
			t.Errorf("%s: %d %s, want %d", tt.name, got.StatusCode, got.body, tt.code)
		} else if tt.code != 200 {
			got.wantError(t, tt.code, "--allowed-hosts")
		}
		if told := s.take(); tt.code != 200 && len(told) > 0 {
			t.Errorf("%s: something came through: %v", tt.name, told)
		}
		// Pages of other sites do not know the token.
		if got := byToken.raw(strings.Replace(request, "X-User: ann", "Authorization: Bearer bobs", 1))[0]; got.StatusCode != 200 {
			t.Errorf("%s, with a token: %d %s", tt.name, got.StatusCode, got.body)
		}
	}
}

// TestAnswersAreForTheirCallerAlone checks that no cache serves a response to another user,
// and that browsers do not sniff the content type.
func TestAnswersAreForTheirCallerAlone(t *testing.T) {
	t.Parallel()
	for _, byToken := range []bool{false, true} {
		f := &fake{eventList: task.Answer{Body: []byte(`{"events":[]}`), ETag: `W/"1"`}}
		s := serve(t, f)
		if byToken {
			s = serveWith(t, f, withAuthenticator)
		}
		for _, route := range append([]string{"GET /nowhere", "PUT /tasks", "GET /", "GET /healthz", "GET /docs"}, ofUsers...) {
			method, path, _ := strings.Cut(route, " ")
			for _, headers := range [][]string{
				{"Authorization", "Bearer bobs"},
				{"Authorization", "Bearer bobs", "If-None-Match", "*"},
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
	f.fold(nil, submitted("ann@example.com", "abcdefgh"))
	listener := must.Listen(b)
	server := f.newServer(Config{})
	ended := make(chan error, 1)
	go func() { ended <- server.Run(b.Context(), listener) }()
	conn, err := net.Dial("tcp", listener.Addr().String())
	must.Succeed(b, err)
	in := bufio.NewReader(conn)
	request := "GET /tasks/abcdefgh HTTP/1.1\r\nHost: localhost:8000\r\nUser-Agent: k8s-cli/1.0\r\nX-User: ann@example.com\r\nAccept: application/json\r\nX-Request-Id: 0123456789abcdef\r\n\r\n"
	for b.Loop() {
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
