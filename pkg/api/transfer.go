package api

import (
	"bytes"
	"io"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/api/slots"
)

const bodyKey = "body" // key in Locals: the incoming body

// bodyOf returns the body of a request. Parts of the body may not have arrived yet.
func bodyOf(c *fiber.Ctx) io.Reader {
	if body, ok := c.Locals(bodyKey).(*transferBody); ok {
		return body
	}
	return bytes.NewReader(c.Request().Body())
}

// transferred returns the body of a request as a transfer in slot: the body may take any
// time to arrive, as long as the sender does not stall.
func transferred(c *fiber.Ctx, slot *slots.Slot) io.Reader {
	body := bodyOf(c)
	if body, ok := body.(*transferBody); ok {
		slot.Track(c.Context().Conn().SetReadDeadline)
		body.slot = slot
	}
	return body
}

// A transferBody is a body that the handler reads as it arrives. A transferBody does not
// read after the end, because fasthttp would wait for more data after a chunked body.
type transferBody struct {
	*framing.Body

	slot *slots.Slot // slot of the transfer, or nil
	end  error       // error of the last Read, io.EOF at the end
}

func (i *transferBody) Read(b []byte) (n int, err error) {
	if i.end != nil {
		return 0, i.end
	}
	if i.slot != nil {
		i.slot.Progress()
	}
	n, i.end = i.Body.Read(b)
	return n, i.end
}
