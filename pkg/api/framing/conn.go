package framing

import (
	"crypto/tls"
	"net"
)

// NewListener returns a listener whose connections are those of NewConn.
func NewListener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept returns the next connection.
func (l listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return NewConn(conn), nil
}

// NewConn returns a connection on which requests are read strictly: what fasthttp
// reads has passed the check of a framing.
func NewConn(plain net.Conn) net.Conn {
	if secure, ok := plain.(secureConn); ok {
		return &tlsConn{conn{Conn: plain}, secure}
	}
	return &conn{Conn: plain}
}

// A conn ends with an error in front of the first byte that its framing refuses.
type conn struct {
	net.Conn

	framing framing
	wrong   error
}

// Read returns what the peer sent, up to what is wrong with it.
func (c *conn) Read(p []byte) (int, error) {
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

func (c *conn) violation(request uint64) error {
	if c.wrong == nil || c.framing.current() > request {
		return nil
	}
	return c.wrong
}

// violationOf returns what is wrong with the requests of a connection up to the one
// of this number, nil if nothing is so far.
func violationOf(from net.Conn, request uint64) error {
	if c, ok := from.(interface{ violation(request uint64) error }); ok {
		return c.violation(request)
	}
	return nil
}

// A secureConn is one with TLS, as fasthttp knows it.
type secureConn interface {
	Handshake() error
	ConnectionState() tls.ConnectionState
}

type tlsConn struct {
	conn

	secureConn
}
