package api

import (
	"bytes"
	"io"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/framing"
	"k8s-cli/pkg/api/slots"
)

const bodyKey = "body" // under which a request carries its incoming body

// bodyOf returns the body of a request, which may still be coming.
func bodyOf(c *fiber.Ctx) io.Reader {
	if body, ok := c.Locals(bodyKey).(*transferBody); ok {
		return body
	}
	return bytes.NewReader(c.Request().Body())
}

// transferred returns the body of a request, whose sender may take any time if he does
// not stall. It arrives in the slot of the request.
func transferred(c *fiber.Ctx, slot *slots.Slot) io.Reader {
	body := bodyOf(c)
	if body, ok := body.(*transferBody); ok {
		slot.Track(c.Context().Conn().SetReadDeadline)
		body.slot = slot
	}
	return body
}

// A transferBody is read as it comes, up to its end and not further: fasthttp
// would wait for more behind a body that came in chunks.
type transferBody struct {
	*framing.Body

	slot *slots.Slot // not nil: of a transfer
	end  error       // that was read
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
