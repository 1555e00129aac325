package framing

import (
	"io"

	"github.com/valyala/fasthttp"
)

const continueLine = "HTTP/1.1 100 Continue\r\n\r\n"

// A Body is the body of a request as it arrives. Read returns an error if the body is
// malformed. fasthttp itself treats a body with a malformed trailer as complete.
type Body struct {
	stream   io.Reader
	request  *fasthttp.RequestCtx
	expected bool // the sender waits for "100 Continue" before it sends the body
	asked    bool
}

// NewBody returns the streamed body of a request. NewBody restores the header of a request
// with "Expect: 100-continue", which deferContinue changed. The first Read of such a body
// sends "100 Continue".
func NewBody(request *fasthttp.RequestCtx) *Body {
	stream := request.RequestBodyStream()
	return &Body{stream: stream, request: request, expected: restoreExpected(&request.Request.Header)}
}

// Expected reports whether the sender waits for "100 Continue".
func (b *Body) Expected() bool { return b.expected }

// Read implements io.Reader.
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

// Violation returns the framing error of the request, or nil if the request is valid so
// far.
func (b *Body) Violation() error {
	return violationOf(b.request.Conn(), b.request.ConnRequestNum())
}
