package framing

import (
	"io"

	"github.com/valyala/fasthttp"
)

const continueLine = "HTTP/1.1 100 Continue\r\n\r\n"

// A Body is the body of a request as it arrives. It ends with what is wrong with it,
// whatever fasthttp makes of that: for fasthttp a body is over in front of a malformed
// trailer.
type Body struct {
	stream   io.Reader
	request  *fasthttp.RequestCtx
	expected bool // its sender holds it back until it is asked for
	asked    bool
}

// NewBody returns the body of a request that has one as a stream, and restores the
// head of a request with "Expect: 100-continue". The sender of such a request is asked
// for the body when the body is first read.
func NewBody(request *fasthttp.RequestCtx) *Body {
	stream := request.RequestBodyStream()
	return &Body{stream: stream, request: request, expected: restoreExpected(&request.Request.Header)}
}

// Expected reports whether the sender held the body back until it was asked for.
func (b *Body) Expected() bool { return b.expected }

// Read reads the body as fasthttp does.
func (b *Body) Read(p []byte) (n int, err error) {
	if b.expected && !b.asked {
		b.asked = true
		if _, err := io.WriteString(b.request.Conn(), continueLine); err != nil {
			return 0, err
		}
	}
	n, err = b.stream.Read(p)
	if err == nil {
		return n, nil
	}
	if wrong := b.Violation(); wrong != nil {
		return n, wrong
	}
	return n, err
}

// Violation returns what is wrong with the request, nil if nothing is so far.
func (b *Body) Violation() error {
	return violationOf(b.request.Conn(), b.request.ConnRequestNum())
}
