package framing

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"

	"k8s-cli/pkg/api/framing/framingtest"
)

// pieces is a reader that returns a text in pieces of a fixed size.
type pieces struct {
	text []byte
	size int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.text) == 0 {
		return 0, io.EOF
	}
	n := copy(b, p.text[:min(p.size, len(p.text))])
	p.text = p.text[n:]
	return n, nil
}

// FuzzFraming checks that fasthttp, behind the framing, reads only requests that a strict
// parser also reads, complete and in the same order.
func FuzzFraming(f *testing.F) {
	for _, head := range framingtest.Heads {
		f.Add([]byte(head), uint16(1000))
	}
	const chunked = "POST /tasks/stop HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, text := range []string{
		chunked + "2;\nxx\r\na5\r\n0\r\n\r\nGET /a HTTP/1.1\r\nHost: x\r\n\r\n",
		chunked + "2;x=\"y\"\r\n{}\r\n0\r\n\r\n" + chunked + "0\r\n\r\n",
		chunked + "0\r\nX-User: root\r\n\r\n", chunked + "0\r\n\n", chunked + "0x5\r\n", chunked + "\r\n0\r\n\r\n",
		"\r\n\r\nGET / HTTP/1.0\r\n\r\nGET / HTTP/9.9\r\nHost: x\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcPUT /b HTTP/1.1\r\nHost: [::1]\r\nContent-Length: 0\r\n\r\n",
		"HEAD / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\naGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		f.Add([]byte(text), uint16(1))
		f.Add([]byte(text), uint16(1000))
	}
	f.Fuzz(func(t *testing.T, text []byte, size uint16) {
		want := strictly(text)
		var got []string
		server := fasthttp.Server{
			Handler: func(c *fasthttp.RequestCtx) {
				body, err := []byte(nil), error(nil)
				if c.Request.IsBodyStream() {
					body, err = io.ReadAll(NewBody(c))
				}
				if err != nil {
					c.SetConnectionClose()
					return
				}
				got = append(got, fmt.Sprintf("%s %s %q", c.Method(), c.Request.Header.RequestURI(), body))
			},
			ErrorHandler: func(*fasthttp.RequestCtx, error) {}, StreamRequestBody: true, ReadBufferSize: HeadLimit, Logger: quiet{},
		}
		_ = server.ServeConn(NewConn(framingtest.Conn{Reader: &pieces{slices.Clone(text), int(size) + 1}, Peer: &net.TCPAddr{}}))
		if len(got) > len(want) || !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%q\nis read as %q\nnot as     %q", text, got, want)
		}
	})
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// strictly returns the requests of a text up to the first request that violates RFC 9112.
// strictly reads the text as a whole and implements every rule in the simplest way.
func strictly(text []byte) (requests []string) {
	for {
		for bytes.HasPrefix(text, []byte("\r\n")) {
			text = text[2:]
		}
		head, rest, ok := strings.Cut(string(text), "\r\n\r\n")
		if !ok {
			return requests
		}
		lines := strings.Split(head, "\r\n")
		start := strings.Split(lines[0], " ")
		if len(start) != 3 || start[2] != "HTTP/1.1" && start[2] != "HTTP/1.0" || strings.ContainsAny(head, "\x00") {
			return requests
		}
		fields := map[string][]string{}
		for _, line := range lines[1:] {
			name, value, ok := strings.Cut(line, ":")
			if !ok || strings.ContainsAny(line, "\r\n") || strings.ContainsAny(name, " \t") || name == "" {
				return requests
			}
			name = strings.ToLower(name)
			fields[name] = append(fields[name], strings.Trim(value, " \t"))
		}
		body, left, ok := strictBody([]byte(rest), fields, start[2] == "HTTP/1.1")
		if !ok || len(fields["host"]) > 1 || start[2] == "HTTP/1.1" && len(fields["host"]) == 0 {
			return requests
		}
		requests = append(requests, fmt.Sprintf("%s %s %q", start[0], start[1], body))
		text = left
	}
}

func strictBody(rest []byte, fields map[string][]string, http11 bool) (body, left []byte, ok bool) {
	lengths, codings := fields["content-length"], fields["transfer-encoding"]
	switch {
	case len(lengths)+len(codings) > 1:
		return nil, nil, false
	case len(lengths) == 1:
		n, err := strconv.ParseUint(lengths[0], 10, 63)
		if err != nil || n > uint64(len(rest)) {
			return nil, nil, false
		}
		return rest[:n], rest[n:], true
	case len(codings) == 0:
		return nil, rest, true
	case !http11 || !strings.EqualFold(codings[0], "chunked"):
		return nil, nil, false
	}
	for {
		line, data, ok := bytes.Cut(rest, []byte("\r\n"))
		size, extension, _ := strings.Cut(string(line), ";")
		n, err := strconv.ParseUint(size, 16, 63)
		if !ok || err != nil || len(size) > maxSizeDigits || strings.ContainsAny(extension, "\r\n\x00") || len(line) > maxChunkLine || n > uint64(len(data)) {
			return nil, nil, false
		}
		body = append(body, data[:n]...)
		if rest, ok = bytes.CutPrefix(data[n:], []byte("\r\n")); !ok {
			return nil, nil, false
		}
		if n == 0 {
			return body, rest, true
		}
	}
}
