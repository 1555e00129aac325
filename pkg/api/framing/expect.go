package framing

import (
	"strconv"

	"github.com/valyala/fasthttp"
)

const (
	expectHeader = "Expect"
	expectation  = "100-continue"
)

// deferContinue lets the handler decide about "Expect: 100-continue", so that the handler
// can reject a request before the body is sent. fasthttp itself would send "100 Continue"
// before the handler runs, or answer 417. deferContinue hides the body from fasthttp: the
// header Expect holds the length of the body until restoreExpected restores the
// Content-Length.
func deferContinue(server *fasthttp.Server) {
	server.HeaderReceived = func(head *fasthttp.RequestHeader) (none fasthttp.RequestConfig) {
		if expected := string(head.Peek(expectHeader)); expected == "" {
			return none
		} else if length := head.ContentLength(); expected != expectation || !head.IsHTTP11() || length == 0 || length < -1 {
			head.Del(expectHeader) // a server may ignore Expect: RFC 9110, section 10.1.1
		} else {
			head.Set(expectHeader, strconv.Itoa(length))
			if length > 0 {
				head.SetContentLength(0)
			}
		}
		return none
	}
}

// restoreExpected restores the Content-Length of a request that deferContinue changed, and
// reports whether the sender waits for "100 Continue".
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
