package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// A lenient is a proxy in front of the server that parses chunk lines in its own way. A
// lenient replaces X-User by mallory and forwards bodies unchanged.
type lenient struct {
	net.Listener
	to   string
	size func(line string) (int64, error) // parses a chunk size as this proxy does
}

func newLenient(to string, size func(string) (int64, error)) (*lenient, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &lenient{l, to, size}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // the listener was closed
			}
			go p.pass(conn)
		}
	}()
	return p, nil
}

// pass forwards one request and all that the server answers.
func (p *lenient) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", p.to)
	if err != nil {
		return
	}
	defer server.Close()
	in, out := bufio.NewReader(client), bufio.NewWriter(server)
	for line, err := in.ReadString('\n'); err == nil; line, err = in.ReadString('\n') {
		if strings.HasPrefix(strings.ToLower(line), "x-user:") {
			continue
		}
		if line == "\r\n" {
			_, _ = out.WriteString("X-User: mallory\r\n\r\n")
			break
		}
		_, _ = out.WriteString(line)
	}
	if err := p.chunks(in, out); err != nil {
		return
	}
	if err := out.Flush(); err != nil {
		return
	}
	_, _ = io.Copy(client, server)
}

// chunks copies a chunked body. Each chunk line ends at LF.
func (p *lenient) chunks(in *bufio.Reader, out *bufio.Writer) error {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		size, err := p.size(strings.TrimRight(line, "\r\n"))
		if err != nil {
			return err
		}
		_, _ = out.WriteString(line)
		if _, err := io.CopyN(out, in, size+2); err != nil { // includes the CRLF
			return err
		}
		if size == 0 {
			return nil
		}
	}
}

// smugglingAttacks hide a request of user ceo in the body of a request of mallory.
func smugglingAttacks() []attack {
	hex := func(line string) (int64, error) {
		line, _, _ = strings.Cut(line, ";")
		return strconv.ParseInt(strings.TrimSpace(line), 16, 64)
	}
	prefixed := func(line string) (int64, error) { return strconv.ParseInt(line, 0, 64) }
	leading := func(line string) (int64, error) {
		end := strings.IndexFunc(line, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) })
		if end >= 0 {
			line = line[:end]
		}
		return strconv.ParseInt(line, 16, 64)
	}
	smuggle := func(host, mark string) string {
		body := fmt.Sprintf(`{"name":%q,"run":"true"}`, mark)
		return fmt.Sprintf("POST /tasks/submit HTTP/1.1\r\nHost: %s\r\nX-User: ceo\r\nContent-Length: %d\r\n\r\n%s", host, len(body), body)
	}
	// A server that parses carelessly does not end the chunk line where the proxy does. The
	// line and the body end later for the server.
	inner := func(first, mark string) func(string) string {
		return func(host string) string {
			hidden := "0\r\n\r\n" + smuggle(host, mark) // shorter than 256 bytes; for the server, its size is the size of the chunk
			return first + fmt.Sprintf("xx\r\n%02x\r\n", len(hidden)) + hidden + "\r\n0\r\n\r\n"
		}
	}
	// A chunk size that the server parses as 0 ends the body immediately.
	early := func(host string) string {
		hidden := "\r\n" + smuggle(host, "smuggled-4")
		return fmt.Sprintf("0x%x\r\n", len(hidden)) + hidden + "\r\n0\r\n\r\n"
	}
	return []attack{
		smuggling("LF in an extension", hex, inner("2;\n", "smuggled-1"), "smuggled-1"),
		smuggling("LF behind a blank", hex, inner("2 \n", "smuggled-2"), "smuggled-2"),
		smuggling("LF behind letters", leading, inner("2zz\n", "smuggled-3"), "smuggled-3"),
		smuggling("0x", prefixed, early, "smuggled-4"),
	}
}

// smuggling sends a body through a lenient proxy and checks the tasks of ceo.
func smuggling(name string, size func(string) (int64, error), body func(host string) string, mark string) attack {
	return scene(name, "one request, of mallory's", func(ctx context.Context, w *environment) error {
		s, err := w.serve(ctx, byHeader)
		if err != nil {
			return err
		}
		proxy, err := newLenient(s.address, size)
		if err != nil {
			return err
		}
		defer proxy.Close()
		behind := &server{address: proxy.Addr().String()}
		text := "POST /tasks/preview HTTP/1.1\r\nHost: " + s.address + "\r\nX-User: ceo\r\nTransfer-Encoding: chunked\r\n\r\n"
		got := behind.exchange(ctx, text+body(s.address))
		if got.answers > 1 {
			return fmt.Errorf("%d answers to one request: %s", got.answers, got.raw)
		}
		if list := s.send(ctx, request{method: "GET", path: "/tasks", header: s.as("ceo")}); list.code != 200 || strings.Contains(string(list.body), mark) {
			return fmt.Errorf("the tasks of ceo: %s", list)
		}
		return nil
	})
}
