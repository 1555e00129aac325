package api

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/trace"
)

// tracing runs a request in a span, as a child of the span in the Traceparent header if
// there is one. The span of a stream ends when the stream begins.
func tracing(tracer *trace.Tracer, metrics *serverMetrics) fiber.Handler {
	return func(c *fiber.Ctx) error {
		ctx, span := tracer.Start(c.UserContext(), trace.Server, c.Method(), c.Get(trace.TraceparentHeader))
		c.SetUserContext(ctx)
		err := c.Next()
		code := c.Response().StatusCode()
		if err != nil {
			code = statusCode(err)
		}
		if metrics.routes[c.Route()] != nil {
			span.SetName(c.Method() + " " + c.Route().Path)
			span.SetString("http.route", c.Route().Path)
		}
		span.SetString("http.request.method", c.Method())
		span.SetString("url.path", c.Path())
		span.SetString("k8s_cli.request", string(c.Response().Header.Peek(requestID)))
		span.SetInt("http.response.status_code", code)
		if code < fiber.StatusInternalServerError {
			span.End(nil) // an error of the caller is no error of the server
		} else {
			span.End(err)
		}
		return err
	}
}
