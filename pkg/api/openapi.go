package api

import (
	_ "embed" // for the two files below

	"github.com/gofiber/fiber/v2"
)

// The feature tests compare the description with the responses of the server. docs.html
// loads nothing from other hosts.
var (
	//go:embed openapi.json
	openAPI []byte

	//go:embed docs.html
	docsPage []byte
)

// Description returns the OpenAPI 3.1 description of the server in JSON. The caller must
// not modify the result.
func Description() []byte { return openAPI }

func description(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(openAPI)
}

// docs serves the documentation page. The Content-Security-Policy allows the page to load
// only the description.
func docs(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	return c.Send(docsPage)
}
