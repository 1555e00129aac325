package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// forward connects every connection of listener to the address to, until ctx ends. forward
// lets pods reach the API server, which listens on 127.0.0.1, at the address of the Service
// "kubernetes".
func forward(ctx context.Context, listener net.Listener, to string) error {
	var open sync.WaitGroup
	defer open.Wait()
	defer context.AfterFunc(ctx, func() { listener.Close() })()
	for {
		conn, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a connection for %s: %w", to, err)
		}
		open.Go(func() { pass(ctx, conn, to) })
	}
}

// pass copies in both directions until both directions have ended. If the server is
// unavailable, pass closes the connection.
func pass(ctx context.Context, client net.Conn, to string) {
	defer client.Close()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	defer context.AfterFunc(ctx, func() { client.Close(); server.Close() })()
	var up sync.WaitGroup
	up.Go(func() { copyAll(server, client) })
	copyAll(client, server)
	up.Wait()
}

// copyAll half-closes dst when src has ended, because one direction may end before the
// other.
func copyAll(dst, src net.Conn) {
	_, _ = io.Copy(dst, src) // the reader of dst detects the error
	if tcp, ok := dst.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}
