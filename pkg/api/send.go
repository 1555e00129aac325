package api

import (
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

// Headers beyond the standard ones.
const (
	staleHeader = "X-Stale"       // log|cluster; age=<seconds>: the answer may be so old
	nextHeader  = "X-Next-Cursor" // cursor of the next page
)

// Values of the headers that keep one user's answer from another. An answer with
// an ETag may be stored by its user's own cache, which has to ask whether it holds.
const (
	neverStored = "private, no-store"
	revalidated = "private, no-cache"
	dependsOn   = "Authorization, X-User, Accept, Accept-Encoding"
)

// private marks every answer as one for its caller alone, of the type that it
// states and no other.
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

// send writes an answer that is ready, or that it has not changed.
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
	c.Response().SetBodyRaw(a.Body) // which nobody changes any more
	return nil
}

// matches reports whether an If-None-Match header names the tag; the comparison
// is the weak one of RFC 9110, 13.1.2.
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
