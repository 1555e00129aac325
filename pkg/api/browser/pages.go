// Package browser serves the pages and the sessions of browsers. The pages are those of the
// dashboard, and authenticate by the sessions.
package browser

import (
	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/ui"
)

// Pages returns the handler of the pages of the dashboard, which need no authentication. same
// reports whether the client has the response with an ETag.
func Pages(site *ui.Site, same func(c *fiber.Ctx, etag string) bool) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if c.Path()+"/" == ui.Root {
			return c.Redirect(ui.Root, fiber.StatusPermanentRedirect)
		}
		f, ok := site.Find(c.Path())
		if !ok {
			return fiber.ErrNotFound
		}
		c.Set(fiber.HeaderCacheControl, f.CacheControl)
		c.Set(fiber.HeaderVary, fiber.HeaderAcceptEncoding)
		c.Set(fiber.HeaderETag, f.ETag)
		c.Set(fiber.HeaderContentSecurityPolicy, f.Policy)
		c.Set(fiber.HeaderReferrerPolicy, "no-referrer")
		if same(c, f.ETag) {
			return c.SendStatus(fiber.StatusNotModified)
		}
		c.Set(fiber.HeaderContentType, f.Type)
		body := f.Body
		if f.Gzip != nil && c.Get(fiber.HeaderAcceptEncoding) != "" && c.AcceptsEncodings("gzip") == "gzip" {
			c.Set(fiber.HeaderContentEncoding, "gzip")
			body = f.Gzip
		}
		c.Response().SetBodyRaw(body) // the body is not modified after this
		return nil
	}
}

// Front returns a handler of GET / that leads browsers to the pages. Programs get the response
// of next.
func Front(next fiber.Handler) fiber.Handler {
	return func(c *fiber.Ctx) error {
		if c.Accepts(fiber.MIMEApplicationJSON, fiber.MIMETextHTML) == fiber.MIMETextHTML {
			return c.Redirect(ui.Root, fiber.StatusSeeOther)
		}
		return next(c)
	}
}
