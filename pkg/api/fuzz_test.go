package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/api/framing/framingtest"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// A witness records the credentials of each request and rejects all requests.
type witness struct {
	byHeader bool
	mu       sync.Mutex
	callers  []task.Credentials
}

func (w *witness) ReadsUserHeader() bool { return w.byHeader }

func (w *witness) Identify(_ context.Context, c task.Credentials) (task.Identity, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.callers = append(w.callers, c)
	return task.Identity{}, problem.New(problem.Unauthorized, "nobody is let in")
}

func (w *witness) saw() []task.Credentials {
	w.mu.Lock()
	defer w.mu.Unlock()
	callers := w.callers
	w.callers = nil
	return callers
}

// watched returns a server whose authenticator is w.
func watched(w *witness) *Server {
	f := &fake{health: Health{Ready: true}}
	return f.newServer(Config{Auth: w})
}

// FuzzCaller checks that the server reads the same credentials as net/http, which parses
// more strictly, and that the address of the sender is the address of the connection.
func FuzzCaller(f *testing.F) {
	for _, head := range framingtest.Heads {
		f.Add([]byte(head), true)
		f.Add([]byte(head), false)
	}
	peer := netip.MustParseAddrPort("192.0.2.1:4711")
	servers := map[bool]*Server{}
	witnesses := map[bool]*witness{}
	for _, byHeader := range []bool{true, false} {
		witnesses[byHeader] = &witness{byHeader: byHeader}
		servers[byHeader] = watched(witnesses[byHeader])
		servers[byHeader].app.Handler() // initialises the app
	}
	f.Fuzz(func(t *testing.T, text []byte, byHeader bool) {
		_ = servers[byHeader].app.Server().ServeConn(framing.NewConn(framingtest.Conn{Reader: bytes.NewReader(text), Peer: net.TCPAddrFromAddrPort(peer)}))
		callers := witnesses[byHeader].saw()
		in := bufio.NewReader(bytes.NewReader(text))
		for len(callers) > 0 {
			r, err := http.ReadRequest(in)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					return // a proxy with such a parser does not forward the request
				}
				t.Fatalf("%q: seen beyond the end: %+v", text, callers)
			}
			if _, err := io.Copy(io.Discard, r.Body); err != nil {
				return
			}
			want, ok := callerOf(r, byHeader, peer.Addr())
			if ok && want == callers[0] {
				callers = callers[1:]
			}
		}
	})
}

// callerOf returns the credentials of a request according to the documentation. ok is false
// if the server must reject the request without the authenticator.
func callerOf(r *http.Request, byHeader bool, peer netip.Addr) (c task.Credentials, ok bool) {
	if byHeader {
		users := r.Header.Values("X-User")
		if len(users) != 1 {
			return c, false
		}
		user := strings.Trim(users[0], " \t")
		return task.Credentials{User: user, Groups: strings.Join(r.Header.Values("X-Groups"), ","), Peer: peer}, task.CheckUser(user) == nil
	}
	proofs := r.Header.Values("Authorization")
	if len(proofs) == 0 {
		return task.Credentials{Peer: peer}, true
	}
	scheme, token, _ := strings.Cut(strings.TrimSpace(proofs[0]), " ")
	return task.Credentials{Token: strings.TrimSpace(token), Peer: peer}, len(proofs) == 1 && strings.EqualFold(scheme, "Bearer")
}

// FuzzThroughProxy checks that a request through a proxy that sets X-User and X-Groups
// never has another user or another group.
func FuzzThroughProxy(f *testing.F) {
	for _, head := range framingtest.Heads {
		f.Add([]byte(head))
	}
	w := &witness{byHeader: true}
	s := watched(w)
	listener := must.Listen(f)
	must.Run(f, func(ctx context.Context) error { return s.Run(ctx, listener) })
	to := &url.URL{Scheme: "http", Host: listener.Addr().String()}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header.Set("X-User", "ann")
		r.Out.Header.Del("X-Groups")
	}})
	f.Cleanup(proxy.Close)
	f.Fuzz(func(t *testing.T, text []byte) {
		conn, err := net.Dial("tcp", proxy.Listener.Addr().String())
		if err != nil {
			t.Skip(err)
		}
		_, _ = conn.Write(text)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.CloseWrite()
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, conn)
		_ = conn.Close()
		for _, c := range w.saw() {
			if c.User != "ann" || c.Groups != "" {
				t.Errorf("%q: asked by %+v", text, c)
			}
		}
	})
}
