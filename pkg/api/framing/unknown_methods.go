package framing

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// sentMethod is where a request has the method with which it came, if no route
// could have it.
type sentMethod struct{}

// Configure has a server read requests as this package does: it lets the handler ask
// for a body that its sender holds back, and passes requests with unknown methods on.
func Configure(server *fasthttp.Server) {
	allowUnknownMethods(server)
	deferContinue(server)
}

// allowUnknownMethods lets requests with methods that Fiber does not know, to which it would
// answer in a way of its own, be answered as those whose method a route does not
// have.
func allowUnknownMethods(server *fasthttp.Server) {
	answer := server.Handler
	server.Handler = func(c *fasthttp.RequestCtx) {
		switch head := &c.Request.Header; string(head.Method()) {
		case fiber.MethodGet, fiber.MethodPost, fiber.MethodPut, fiber.MethodDelete, fiber.MethodHead,
			fiber.MethodOptions, fiber.MethodPatch, fiber.MethodTrace, fiber.MethodConnect:
		default:
			c.SetUserValue(sentMethod{}, string(head.Method()))
			head.SetMethod(fiber.MethodConnect) // which no route has
		}
		answer(c)
	}
}

// Method returns the method of a request, as it was sent.
func Method(c *fiber.Ctx) string {
	if sent, other := c.Context().UserValue(sentMethod{}).(string); other {
		return sent
	}
	return c.Method()
}
