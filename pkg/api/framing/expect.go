package framing

import (
	"strconv"

	"github.com/valyala/fasthttp"
)

const (
	expectHeader = "Expect"
	expectation  = "100-continue"
)

// deferContinue leaves it to the handler to answer "Expect: 100-continue", so that a
// request can be refused before its body is sent. fasthttp itself would say 100 before
// the handler runs, or answer 417 in its place. Here fasthttp sees a request without
// body; the length of the body takes the place of the expectation until the handler
// restores it.
func deferContinue(server *fasthttp.Server) {
	server.HeaderReceived = func(head *fasthttp.RequestHeader) (none fasthttp.RequestConfig) {
		if expected := string(head.Peek(expectHeader)); expected == "" {
			return none
		} else if length := head.ContentLength(); expected != expectation || !head.IsHTTP11() || length == 0 || length < -1 {
			head.Del(expectHeader) // a server may ignore it: RFC 9110, 10.1.1
		} else {
			head.Set(expectHeader, strconv.Itoa(length))
			if length > 0 {
				head.SetContentLength(0)
			}
		}
		return none
	}
}

// restoreExpected restores the length of a body that the sender holds back until it
// is asked for, and reports whether there is one.
func restoreExpected(head *fasthttp.RequestHeader) bool {
	length, err := strconv.Atoi(string(head.Peek(expectHeader)))
	if err != nil {
		return false
	}
	head.Del(expectHeader)
	if length > 0 {
		head.SetContentLength(length)
	}
	return true
}
