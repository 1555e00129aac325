package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
)

// listen returns one listener for addresses that commas separate. Its own address
// is the first one's.
func listen(addresses string) (net.Listener, error) {
	all := &listeners{accepted: make(chan accepted), closed: make(chan struct{})}
	for address := range strings.SplitSeq(addresses, ",") {
		one, err := net.Listen("tcp", address)
		if err != nil {
			_ = all.Close()
			return nil, fmt.Errorf("serve HTTP: %w; is another server running there? choose another --listen", err)
		}
		all.each = append(all.each, one)
	}
	if len(all.each) == 1 {
		return all.each[0], nil
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

// Addr returns the address of the first one.
func (l *listeners) Addr() net.Addr { return l.each[0].Addr() }
