package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"time"
)

// A siege is the connections that one user holds open at a server.
type siege struct {
	archive string // content of an archive of ann
	conns   []net.Conn

	mu    sync.Mutex
	begun []net.Conn // downloads whose first bytes have arrived
}

// end closes all connections.
func (h *siege) end() {
	for _, c := range h.conns {
		c.Close()
	}
}

// cut returns how many downloads the server has closed. The clients do not notice, because
// unread bytes precede the end of the connection. The kernel knows the state of the server's
// side.
func (h *siege) cut() (n int, err error) {
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		return 0, err
	}
	const established = "01"
	open := map[string]bool{} // ports of clients, in hexadecimal
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 3 && f[3] == established {
			_, port, _ := strings.Cut(f[2], ":")
			open[port] = true
		}
	}
	for _, c := range h.begun {
		if port := c.LocalAddr().(*net.TCPAddr).Port; !open[fmt.Sprintf("%04X", port)] {
			n++
		}
	}
	return n, nil
}

// open opens a connection and sends the header of a request and a part of its body.
func (h *siege) open(ctx context.Context, s *server, text string, more []byte) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.address)
	if err != nil {
		return nil, err
	}
	h.conns = append(h.conns, conn)
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10) // unread bytes stay at the server
	if _, err := io.WriteString(conn, strings.ReplaceAll(text, "{host}", s.address)); err != nil {
		return conn, err
	}
	_, _ = conn.Write(more) // a server that refuses the body may not read it
	return conn, nil
}

// holdDownloads downloads a large archive several times and reads only the beginning.
func holdDownloads(ctx context.Context, h *siege, s *server, _ bool) error {
	var begun sync.WaitGroup
	for range downloadsAtOnce {
		conn, err := h.open(ctx, s, "GET /uploads/"+hashOf(h.archive)+" HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\n\r\n", nil)
		if err != nil {
			return err
		}
		begun.Add(1)
		go func() {
			one := make([]byte, 1<<10)
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second)) // a download that waits for a slot has not begun
			defer begun.Done()
			n, err := conn.Read(one)
			if err != nil || !strings.HasPrefix(string(one[:n]), "HTTP/1.1 200") {
				return
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			h.begun = append(h.begun, conn)
		}()
	}
	begun.Wait()
	return nil
}

// holdBatches starts batch requests whose bodies never arrive completely.
func holdBatches(ctx context.Context, h *siege, s *server, _ bool) error {
	for range 8 {
		if _, err := h.open(ctx, s, "POST /tasks/batch HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n", []byte(strings.Repeat(" ", 20<<10))); err != nil {
			return err
		}
	}
	// The batches hold their slots once another batch of ann is refused. The loop ends after
	// two seconds in any case.
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		if s.send(ctx, request{method: "POST", path: "/tasks/batch", body: "[" + task14 + "]", header: s.as("ann")}).code != 200 {
			return nil
		}
		<-tick.C
	}
	return nil
}

// holdStreams opens streams of events.
func holdStreams(ctx context.Context, h *siege, s *server, short bool) error {
	streams := 600
	if short {
		streams = 100
	}
	for range streams {
		conn, err := h.open(ctx, s, "GET /events HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\nAccept: text/event-stream\r\n\r\n", nil)
		if err != nil {
			return err
		}
		_ = conn.SetReadDeadline(time.Now().Add(wireTimeout))
		if _, err := conn.Read(make([]byte, 1<<10)); err != nil {
			return err
		}
	}
	return nil
}

// holdUploads starts uploads that never end.
func holdUploads(ctx context.Context, h *siege, s *server, short bool) error {
	uploads, part := 400, make([]byte, 2<<20-1000)
	if short {
		uploads, part = 100, part[:64<<10]
	}
	for n := range uploads {
		text := fmt.Sprintf("PUT /uploads/%s HTTP/1.1\r\nHost: {host}\r\nX-User: ann\r\nContent-Length: 500000000\r\n\r\n", hashOf(fmt.Sprint(n)))
		conn, err := h.open(ctx, s, text, nil)
		if err != nil {
			return err
		}
		_ = conn.SetWriteDeadline(time.Now().Add(5 * time.Second)) // the upload holds its slot even if the server does not read it
		_, _ = conn.Write(part)
	}
	return nil
}
