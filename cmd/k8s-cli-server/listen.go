package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
)

// sockets are the listeners of the server. They are opened before the server connects to
// its dependencies, so that a port in use ends the server at once.
type sockets struct {
	api   *listeners
	files *listeners   // nil: api also serves the files of tasks
	admin net.Listener // nil without --admin-listen
}

func openSockets(c config, logger *slog.Logger) (opened *sockets, err error) {
	s := &sockets{}
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.api, err = c.identity.listen("--listen", c.listen, logger); err != nil {
		return nil, err
	}
	if c.filesListen != "" {
		if s.files, err = c.identity.listen("--files-listen", c.filesListen, logger); err != nil {
			return nil, err
		}
	}
	if s.admin, err = listenAdmin(c.adminListen); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *sockets) close() {
	if s.api != nil {
		_ = s.api.Close()
	}
	if s.files != nil {
		_ = s.files.Close()
	}
	if s.admin != nil {
		_ = s.admin.Close()
	}
}

// listen returns one listener for addresses, which are separated by commas. The listener
// uses TLS if secure is not nil. Its Addr is the first address.
func listen(flag, addresses string, secure *tls.Config) (*listeners, error) {
	all := &listeners{accepted: make(chan accepted), closed: make(chan struct{})}
	for address := range strings.SplitSeq(addresses, ",") {
		one, err := net.Listen("tcp", address)
		if err != nil {
			_ = all.Close()
			return nil, fmt.Errorf("serve HTTP: %w; is another server running there? choose another %s", err, flag)
		}
		if secure != nil {
			one = tls.NewListener(one, secure)
		}
		all.each = append(all.each, one)
	}
	for _, one := range all.each {
		go all.accept(one) // returns when the listener is closed
	}
	return all, nil
}

// listeners is one net.Listener that accepts the connections of several listeners.
type listeners struct {
	each     []net.Listener
	accepted chan accepted
	closed   chan struct{}
	once     sync.Once
}

type accepted struct {
	conn net.Conn
	err  error
}

func (l *listeners) accept(from net.Listener) {
	for {
		conn, err := from.Accept()
		select {
		case l.accepted <- accepted{conn, err}:
		case <-l.closed:
			if err == nil {
				_ = conn.Close()
			}
			return
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
	}
}

// Accept returns the next connection of any of the listeners.
func (l *listeners) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// dial opens a connection to the listener from inside the process.
func (l *listeners) dial(ctx context.Context) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.accepted <- accepted{conn: far}:
		return near, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close closes all listeners.
func (l *listeners) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		for _, one := range l.each {
			err = errors.Join(err, one.Close())
		}
	})
	return err
}

// Share returns a listener that accepts connections from l until the returned listener is
// closed. Closing the returned listener leaves l open.
func (l *listeners) Share() net.Listener {
	return &sharedListener{listeners: l, done: make(chan struct{})}
}

type sharedListener struct {
	*listeners

	done chan struct{}
	once sync.Once
}

// Accept returns the next connection, and no connection after Close.
func (l *sharedListener) Accept() (net.Conn, error) {
	select {
	case <-l.done:
		return nil, net.ErrClosed
	default:
	}
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
	case <-l.done:
	}
	return nil, net.ErrClosed
}

// Close makes Accept of this shared listener return an error. The underlying listeners
// stay open.
func (l *sharedListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns the address of the first listener.
func (l *listeners) Addr() net.Addr { return l.each[0].Addr() }
