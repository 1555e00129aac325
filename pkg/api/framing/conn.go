package framing

import (
	"crypto/tls"
	"net"
	"sync/atomic"
)

// NewListener returns a listener that wraps each connection by NewConn.
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

// NewConn returns a connection that checks requests strictly: fasthttp reads only bytes
// that a framing has accepted.
func NewConn(plain net.Conn) net.Conn {
	if secure, ok := plain.(secureConn); ok {
		return &tlsConn{conn{Conn: plain}, secure}
	}
	return &conn{Conn: plain}
}

// A conn is a connection whose Read fails before the first byte that the framing rejects.
type conn struct {
	net.Conn

	framing framing
	wrong   error
	onClose atomic.Pointer[func()]
}

// Read returns the bytes of the peer, up to the first byte that the framing rejects.
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

// violationOf returns the framing error of the requests on a connection up to the given
// request number, or nil.
func violationOf(from net.Conn, request uint64) error {
	if c, ok := from.(interface{ violation(request uint64) error }); ok {
		return c.violation(request)
	}
	return nil
}

// A secureConn is a TLS connection, as fasthttp detects it.
type secureConn interface {
	Handshake() error
	ConnectionState() tls.ConnectionState
}

type tlsConn struct {
	conn

	secureConn
}

// Release ends the check of the bytes of a connection whose requests are over, because the
// connection now speaks another protocol. If the framing has rejected bytes before, the
// connection stays unreadable.
func Release(from net.Conn) {
	if c, ok := from.(interface{ release() }); ok {
		c.release()
	}
}

func (c *conn) release() {
	c.framing.state = released
	c.onClose.Store(nil)
}

// OnClose calls f when a connection is closed before Release. A server that hands a connection over
// to another protocol does not do so if it cannot send its response.
func OnClose(of net.Conn, f func()) {
	if c, ok := of.(interface{ onceClosed(f func()) }); ok {
		c.onceClosed(f)
	}
}

func (c *conn) onceClosed(f func()) { c.onClose.Store(&f) }

// Close closes the connection.
func (c *conn) Close() error {
	err := c.Conn.Close()
	if f := c.onClose.Swap(nil); f != nil {
		(*f)()
	}
	return err
}
