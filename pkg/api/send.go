package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

// The non-standard headers of responses.
const (
	staleHeader = "X-Stale"       // log|cluster; age=<seconds>: the response may be stale by this age
	nextHeader  = "X-Next-Cursor" // cursor of the next page
	totalHeader = "X-Total-Count" // number of objects on all pages
)

// Values of the headers that protect the response of one user from other users. The user's
// own cache may store a response with an ETag, but must revalidate the response.
const (
	neverStored = "private, no-store"
	revalidated = "private, no-cache"
	dependsOn   = "Authorization, Cookie, X-User, Accept, Accept-Encoding"
)

// private marks every response as private to its user, and disables content sniffing.
func private(c *fiber.Ctx) error {
	markPrivate(c)
	return c.Next()
}

func markPrivate(c *fiber.Ctx) {
	head := &c.Response().Header
	head.Set(fiber.HeaderCacheControl, neverStored)
	head.Set(fiber.HeaderVary, dependsOn)
	head.Set(fiber.HeaderXContentTypeOptions, "nosniff")
}

// send writes an encoded response, or 304 Not Modified if the ETag matches.
func send(c *fiber.Ctx, a task.Answer, err error) error {
	if a.Stale != "" {
		c.Set(staleHeader, a.Stale)
	}
	if err != nil {
		return err
	}
	if a.Next != "" {
		c.Set(nextHeader, a.Next)
	}
	c.Set(fiber.HeaderETag, a.ETag)
	c.Set(fiber.HeaderCacheControl, revalidated)
	if matches(c.Get(fiber.HeaderIfNoneMatch), a.ETag) {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSON)
	c.Response().SetBodyRaw(a.Body) // the body is not modified after this
	return nil
}

// matches reports whether an If-None-Match header contains the tag, by the weak comparison
// of RFC 9110, section 13.1.2.
func matches(header, tag string) bool {
	if header == "" {
		return false
	}
	for one := range strings.SplitSeq(header, ",") {
		one = strings.TrimSpace(one)
		if one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}
