package framing

import (
	"bufio"
	"context"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// Bounds of reading the rest of a body after the response. If the server closed the
// connection while data arrives, TCP would reset the connection, and the sender might lose
// the response.
const (
	lingerLimit = 8 << 20 // bytes
	lingerTime  = 5 * time.Second
)

// AnswerFirst sends the response to a request before the body has arrived, and then
// discards up to lingerLimit bytes of the body. AnswerFirst closes the connection
// afterwards, or when ctx is done.
func AnswerFirst(ctx context.Context, request *fasthttp.RequestCtx) {
	request.HijackSetNoResponse(true)
	request.Hijack(func(conn net.Conn) {
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(lingerTime))
		defer interruptOn(ctx, conn)()
		request.Response.Header.SetConnectionClose()
		w := bufio.NewWriter(conn)
		if err := request.Response.Write(w); err != nil || w.Flush() != nil {
			return
		}
		if half, ok := request.Conn().(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
		_, _ = io.CopyN(io.Discard, conn, lingerLimit)
	})
}

// interruptOn interrupts reads and writes of conn when ctx is done. The caller must call
// release before it returns the connection: fasthttp reuses the hijacked connection after
// its handler, so interruptOn must not touch conn after release returns.
func interruptOn(ctx context.Context, conn net.Conn) (release func()) {
	interrupted := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(interrupted)
		_ = conn.SetDeadline(time.Now())
	})
	return func() {
		if !stop() {
			<-interrupted
		}
	}
}
