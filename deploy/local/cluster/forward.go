package cluster

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// forward passes every connection to listener on to the address to, until ctx
// ends. It lets pods reach the API server, which listens on 127.0.0.1, at the
// address of the service "kubernetes", which is here.
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

// pass copies both ways until either side has said everything and the other
// has heard it. A server that is away closes the connection, as it would itself.
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

// copyAll tells dst that src has ended, since one direction may end first.
func copyAll(dst, src net.Conn) {
	_, _ = io.Copy(dst, src) // whoever reads from dst notices
	if tcp, ok := dst.(*net.TCPConn); ok {
		_ = tcp.CloseWrite()
	}
}
