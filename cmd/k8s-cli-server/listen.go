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

// sockets are where the server listens. They are open before the server reaches for
// its dependencies, so that a port that is taken ends it at once.
type sockets struct {
	api   *listeners
	files *listeners   // nil: the API's listener serves the files of tasks
	admin net.Listener // nil: there is none for operators
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

// listen returns one listener for the addresses of a flag, which commas separate,
// all of them with TLS if there are settings for it. Its own address is the first
// one's.
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
		go all.accept(one) // until it is closed
	}
	return all, nil
}

// listeners accepts what comes to any of several.
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

// Accept returns the next connection.
func (l *listeners) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// dial connects to this listener from inside the process.
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

// Close closes all of them.
func (l *listeners) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		for _, one := range l.each {
			err = errors.Join(err, one.Close())
		}
	})
	return err
}

// Share returns a listener that accepts what comes until it is closed, which
// leaves those open that it is of.
func (l *listeners) Share() net.Listener {
	return &sharedListener{listeners: l, done: make(chan struct{})}
}

type sharedListener struct {
	*listeners

	done chan struct{}
	once sync.Once
}

// Accept returns the next connection.
func (l *sharedListener) Accept() (net.Conn, error) {
	select {
	case a := <-l.accepted:
		return a.conn, a.err
	case <-l.closed:
	case <-l.done:
	}
	return nil, net.ErrClosed
}

// Close ends Accept, here alone.
func (l *sharedListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

// Addr returns the address of the first one.
func (l *listeners) Addr() net.Addr { return l.each[0].Addr() }
