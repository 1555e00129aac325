package api

import (
	"net"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task"
)

var (
	errForeignHost = fiber.NewError(fiber.StatusMisdirectedRequest,
		"Host: the name is unknown on a loopback address; use localhost, or add the name to --allowed-hosts")
	errForeignOrigin = task.Error(task.ErrForbidden,
		"Origin: requests from pages of other sites are rejected; open the page under the name of this server, or add its host to --allowed-hosts")
)

// sameOrigin refuses what a page of another site has a browser send. Where X-User
// is believed, the name of the user is no secret, and a page that points its own
// name at a loopback address (DNS rebinding) could send it.
func (a *callers) sameOrigin(c *fiber.Ctx) error {
	if a.auth != nil && !a.auth.ByHeader() {
		return c.Next()
	}
	host := c.Request().Header.Host()
	if len(host) > 0 && c.Context().LocalIP().IsLoopback() && !a.knows(string(host)) {
		return errForeignHost
	}
	for _, origin := range c.Request().Header.PeekAll(fiber.HeaderOrigin) {
		_, from, ok := strings.Cut(string(origin), "://")
		if !ok || !strings.EqualFold(from, string(host)) && !a.hosts[hostName(from)] {
			return errForeignOrigin
		}
	}
	return c.Next()
}

// knows reports whether nobody but this machine or the operator decides where a
// host leads.
func (a *callers) knows(authority string) bool {
	name := hostName(authority)
	if name == "localhost" || a.hosts[name] {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// hostName returns the host of HOST[:PORT], as it is compared: in lower case,
// without brackets and without the dot that may end it.
func hostName(authority string) string {
	host, _, err := net.SplitHostPort(authority)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(authority, "["), "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

func hostNames(hosts []string) map[string]bool {
	names := make(map[string]bool, len(hosts))
	for _, host := range hosts {
		names[hostName(host)] = true
	}
	return names
}
