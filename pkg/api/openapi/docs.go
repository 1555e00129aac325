package openapi

import (
	_ "embed" // for the page

	"github.com/gofiber/fiber/v2"
)

//go:embed docs.html
var docsPage []byte

// Docs serves the documentation page. The Content-Security-Policy allows the page to load
// only the description.
func Docs(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, fiber.MIMETextHTMLCharsetUTF8)
	c.Set(fiber.HeaderContentSecurityPolicy, "default-src 'none'; connect-src 'self'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	return c.Send(docsPage)
}
