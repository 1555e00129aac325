package api

import (
	"net/netip"
	"strings"
	"testing"

	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/task"
)

// behindProxy makes a server trust X-User and X-Groups from this machine.
func behindProxy(c *Config) {
	c.Auth = auth.New(auth.UserHeader{Trusted: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, task.Admins{"group:ops"})
}

// TestTrailersAreNoHeaders checks that trailers do not become headers, because many proxies
// forward trailers unchanged.
func TestTrailersAreNoHeaders(t *testing.T) {
	const trailer = "0\r\nX-User: root\r\nX-Groups: ops\r\n\r\n"
	for _, route := range ofUsers {
		for _, named := range []string{"", "X-User: ann\r\n", "X-User: ann\r\nTrailer: X-Groups\r\n"} {
			s := serveWith(t, &fake{}, behindProxy)
			for _, got := range s.raw(route + "?all_users=true HTTP/1.1\r\nHost: x\r\n" + named + "Transfer-Encoding: chunked\r\n\r\n" + trailer) {
				if got.StatusCode < 400 || strings.Contains(got.body, "root") {
					t.Errorf("%s with %q: %d %s", route, named, got.StatusCode, got.body)
				}
			}
			if len(s.told()) > 0 || len(s.questions()) > 0 {
				t.Errorf("%s with %q: something came through: %v, %v", route, named, s.told(), s.questions())
			}
		}
	}
}

// TestRejectSmuggling checks that the server closes the connection after a request whose
// end is ambiguous, because the following bytes may be its body.
func TestRejectSmuggling(t *testing.T) {
	const second = "POST /tasks/stop HTTP/1.1\r\nHost: x\r\nX-User: root\r\n\r\n"
	for name, head := range map[string]string{
		"two lengths":           "Content-Length: 60\r\nContent-Length: 0\r\n",
		"two lengths, the same": "Content-Length: 0\r\ncontent-length: 0\r\n",
		"length and chunks":     "Content-Length: 60\r\nTransfer-Encoding: chunked\r\n",
		"chunks and length":     "transfer-encoding:chunked\r\nCONTENT-LENGTH:0\r\n",
		"chunks twice":          "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
		"another coding":        "Transfer-Encoding: gzip\r\n",
		"two codings":           "Transfer-Encoding: gzip, chunked\r\n",
		"the coding of none":    "Transfer-Encoding: identity\r\n",
	} {
		s := serveWith(t, &fake{}, behindProxy)
		for _, got := range s.raw("POST /tasks/stop HTTP/1.1\r\nHost: x\r\nX-User: ann\r\n" + head + "\r\n0\r\n\r\n" + second) {
			if got.wantError(t, 400, "conflicting Content-Length"); !got.Close {
				t.Errorf("%s: the connection stays open", name)
			}
		}
		if len(s.told()) > 0 {
			t.Errorf("%s: something came through: %v", name, s.told())
		}
	}
	for _, head := range []string{"Content-Length: 2\r\n\r\n{}", "Transfer-Encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", "X-Content-Length: 3\r\nContent-Length-X: 4\r\n\r\n"} {
		s := serveWith(t, &fake{}, behindProxy)
		for _, got := range s.raw("POST /tasks/stop HTTP/1.1\r\nHost: x\r\nX-User: ann\r\n" + head) {
			if got.StatusCode != 200 {
				t.Errorf("%q: %d %s", head, got.StatusCode, got.body)
			}
		}
	}
}
