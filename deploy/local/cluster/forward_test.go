package cluster

import (
	"context"
	"io"
	"net"
	"testing"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestForwardCarriesBothDirections(t *testing.T) {
	server, front := listen(t), listen(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- forward(ctx, front, server.Addr().String()) }()
	go func() {
		conn, err := server.Accept()
		if err != nil {
			return
		}
		question, _ := io.ReadAll(conn) // ends when the client has said everything
		_, _ = conn.Write(append([]byte("re: "), question...))
		conn.Close()
	}()
	client, err := net.Dial("tcp", front.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	_, _ = client.Write([]byte("hello"))
	_ = client.(*net.TCPConn).CloseWrite()
	answer, err := io.ReadAll(client)
	if string(answer) != "re: hello" || err != nil {
		t.Errorf("answer = %q, %v", answer, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("forward = %v", err)
	}
}
