package framing

import (
	"bufio"
	"context"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

// What is read of a body behind the answer: a connection that is closed while data
// arrives is reset, and the sender may lose the answer.
const (
	lingerLimit = 8 << 20 // bytes
	lingerTime  = 5 * time.Second
)

// AnswerFirst sends the answer of a request whose body is not wanted before it reads
// what still comes, some of which it drops. The connection ends with that, or as soon
// as ctx is done.
func AnswerFirst(ctx context.Context, request *fasthttp.RequestCtx) {
	request.HijackSetNoResponse(true)
	request.Hijack(func(conn net.Conn) {
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

// interruptOn ends reads and writes of the connection once ctx is done. The function
// that interruptOn returns stops that: conn is not used any more when it returns, since
// fasthttp gives a hijacked connection to another request after its handler.
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
