package api

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/trace"
)

// traced has a request be a span, below its caller's if that names one. A stream
// lasts until it begins.
func (s *Server) traced(c *fiber.Ctx) error {
	ctx, span := s.config.Trace.Begin(c.UserContext(), trace.Answer, c.Method(), c.Get(trace.Header))
	c.SetUserContext(ctx)
	err := c.Next()
	code := c.Response().StatusCode()
	if err != nil {
		code = statusCode(err)
	}
	if s.measures.routes[c.Route()] != nil {
		span.Name(c.Method() + " " + c.Route().Path)
		span.Text("http.route", c.Route().Path)
	}
	span.Text("http.request.method", c.Method())
	span.Text("url.path", c.Path())
	span.Text("k8s_cli.request", string(c.Response().Header.Peek(requestID)))
	span.Number("http.response.status_code", code)
	if code < fiber.StatusInternalServerError {
		span.End(nil) // that a caller errs is no error of the server
	} else {
		span.End(err)
	}
	return err
}
