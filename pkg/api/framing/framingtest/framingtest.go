// Package framingtest contains what the fuzz tests of requests share.
package framingtest

import (
	"io"
	"net"
	"time"
)

// A Conn is a connection whose peer has already sent everything that Reader reads.
type Conn struct {
	io.Reader

	Peer net.Addr
}

// Write discards p.
func (c Conn) Write(p []byte) (int, error) { return len(p), nil }

// Close does nothing.
func (c Conn) Close() error { return nil }

// LocalAddr returns the address of the peer.
func (c Conn) LocalAddr() net.Addr { return c.Peer }

// RemoteAddr returns the address of the peer.
func (c Conn) RemoteAddr() net.Addr { return c.Peer }

// SetDeadline does nothing.
func (c Conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (c Conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (c Conn) SetWriteDeadline(time.Time) error { return nil }

// Heads are requests with which the fuzz tests begin.
var Heads = []string{
	"GET /whoami HTTP/1.1\r\nHost: x\r\nX-User: ann\r\n\r\n",
	"GET /whoami HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nX-Groups: a, b\r\nX-Groups: ops\r\nX-Forwarded-For: 10.0.0.1, 127.0.0.1\r\nForwarded: for=10.0.0.1\r\nX-Real-IP: 10.0.0.1\r\n\r\n",
	"GET /whoami HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nx-user: root\r\n\r\n",
	"GET /whoami HTTP/1.1\r\nHost: x\r\nX-User : root\r\nX_User: root\r\n X-User: root\r\n\r\n",
	"GET /whoami HTTP/1.1\r\nHost: x\r\nConnection: X-User, keep-alive\r\nUpgrade: x\r\nX-User: root\r\n\r\n",
	"GET /whoami HTTP/1.1\r\nHost: x\nX-User: a\rb\nX-Groups: ops\n\n",
	"POST /tasks/stop HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nTransfer-Encoding: chunked\r\nTrailer: X-Groups\r\n\r\n2\r\n{}\r\n0\r\nX-Groups: ops\r\nX-User: root\r\n\r\n",
	"POST /tasks/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}GET /whoami HTTP/1.1\r\nHost: x\r\nX-User: root\r\n\r\n",
	"POST /tasks/stop HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\nContent-Length: 0\r\n\r\nGET /whoami HTTP/1.1\r\nHost: x\r\nX-User: root\r\n\r\n",
	"POST /tasks/batch HTTP/1.1\r\nHost: x\r\nX-User: ann\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /whoami HTTP/1.1\r\nX-User: root\r\n\r\n",
	"POST /tasks/submit HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\nX-User: ann\r\n\r\n{}",
	"GET /whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a b\r\n\r\nGET /whoami HTTP/1.1\r\nHost: x\r\nauthorization:  bEARER   x=\t\r\n\r\n",
	"GET /whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer\r\nAuthorization: Bearer roots\r\n\r\n",
	"GET /whoami HTTP/1.0\r\nConnection: keep-alive\r\nAuthorization: Basic cm9vdDpyb290\r\n\r\n",
}
