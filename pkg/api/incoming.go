package api

import (
	"bytes"
	"io"
	"net"
	"time"

	"github.com/gofiber/fiber/v2"
)

const bodyKey = "body" // under which a request carries its incoming body

// bodyOf returns the body of a request, which may still be coming.
func bodyOf(c *fiber.Ctx) io.Reader {
	if body, ok := c.Locals(bodyKey).(*incoming); ok {
		return body
	}
	return bytes.NewReader(c.Request().Body())
}

// An incoming body is read as it comes, up to its end and not further: fasthttp
// would wait for more behind a body that came in chunks.
type incoming struct {
	io.Reader
	conn net.Conn // not nil: its sender may take any time, if only he does not stall
	end  error    // that was read
}

func (i *incoming) Read(b []byte) (n int, err error) {
	if i.end != nil {
		return 0, i.end
	}
	if i.conn != nil {
		_ = i.conn.SetReadDeadline(time.Now().Add(stallLimit))
	}
	n, i.end = i.Reader.Read(b)
	return n, i.end
}
