package api

import (
	_ "embed" // the two files below

	"github.com/gofiber/fiber/v2"
)

// What is described is held to what is answered by the feature tests. The page
// needs nothing from elsewhere.
var (
	//go:embed openapi.json
	openAPI []byte

	//go:embed docs.html
	docsPage []byte
)

// Description returns what the server answers, as OpenAPI 3.1 in JSON. It is not
// to be changed.
func Description() []byte { return openAPI }

func description(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	return c.Send(openAPI)
}

// docs answers with a page that may load nothing but the description beside it.
func docs(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	return c.Send(docsPage)
}
