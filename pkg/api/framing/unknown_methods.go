package framing

import (
	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"
)

// sentMethod is the key of the original method of a request with an unknown method.
type sentMethod struct{}

// Configure makes a server read requests as this package requires: the handler decides when
// to request a body, and requests with unknown methods reach the router.
func Configure(server *fasthttp.Server) {
	allowUnknownMethods(server)
	deferContinue(server)
	server.KeepHijackedConns = true // otherwise fasthttp reuses its record of a connection that a goroutine may still write to
}

// allowUnknownMethods routes requests with methods that Fiber does not know. Fiber itself
// would answer such requests in a way of its own; with this function, an unknown method
// gets the same response as a known method that the route does not support.
func allowUnknownMethods(server *fasthttp.Server) {
	answer := server.Handler
	server.Handler = func(c *fasthttp.RequestCtx) {
		switch head := &c.Request.Header; string(head.Method()) {
		case fiber.MethodGet, fiber.MethodPost, fiber.MethodPut, fiber.MethodDelete, fiber.MethodHead,
			fiber.MethodOptions, fiber.MethodPatch, fiber.MethodTrace, fiber.MethodConnect:
		default:
			c.SetUserValue(sentMethod{}, string(head.Method()))
			head.SetMethod(fiber.MethodConnect) // no route has CONNECT
		}
		answer(c)
	}
}

// Method returns the original method of a request.
func Method(c *fiber.Ctx) string {
	if sent, other := c.Context().UserValue(sentMethod{}).(string); other {
		return sent
	}
	return c.Method()
}
