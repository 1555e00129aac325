package api

import (
	"crypto/tls"
	"io"
	"net"

	"github.com/valyala/fasthttp"
)

// A framedListener accepts connections on which requests are read strictly: what
// fasthttp reads has passed the check of a framing.
type framedListener struct{ net.Listener }

// Accept returns the next connection.
func (l framedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return framed(conn), nil
}

func framed(conn net.Conn) net.Conn {
	if secure, ok := conn.(secureConn); ok {
		return &framedTLSConn{framedConn{Conn: conn}, secure}
	}
	return &framedConn{Conn: conn}
}

// A framedConn ends with an error in front of the first byte that its framing
// refuses.
type framedConn struct {
	net.Conn

	framing framing
	wrong   error
}

// Read returns what the peer sent, up to what is wrong with it.
func (c *framedConn) Read(p []byte) (int, error) {
	if c.wrong != nil {
		return 0, c.wrong
	}
	n, err := c.Conn.Read(p)
	if n, c.wrong = c.framing.check(p[:n]); c.wrong != nil && n == 0 {
		return 0, c.wrong
	} else if c.wrong != nil {
		return n, nil
	}
	return n, err
}

func (c *framedConn) violation(request uint64) error {
	if c.wrong == nil || c.framing.current() > request {
		return nil
	}
	return c.wrong
}

// violationOf returns what is wrong with the requests of a connection up to the one
// of this number, nil if nothing is so far.
func violationOf(conn net.Conn, request uint64) error {
	if c, ok := conn.(interface{ violation(request uint64) error }); ok {
		return c.violation(request)
	}
	return nil
}

// A framedBody ends with what is wrong with it, whatever fasthttp makes of that:
// for fasthttp a body is over in front of a malformed trailer.
type framedBody struct {
	io.Reader

	c *fasthttp.RequestCtx
}

// Read reads the body as fasthttp does.
func (b framedBody) Read(p []byte) (n int, err error) {
	n, err = b.Reader.Read(p)
	if err == nil {
		return n, nil
	}
	if wrong := b.violation(); wrong != nil {
		return n, wrong
	}
	return n, err
}

func (b framedBody) violation() error { return violationOf(b.c.Conn(), b.c.ConnRequestNum()) }

// A secureConn is one with TLS, as fasthttp knows it.
type secureConn interface {
	Handshake() error
	ConnectionState() tls.ConnectionState
}

type framedTLSConn struct {
	framedConn

	secureConn
}
