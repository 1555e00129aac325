package api

import (
	"net"
	"net/netip"
	"strings"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/task/problem"
)

var (
	errForeignHost = problem.New(problem.HostNotAllowed,
		"Host: the name is unknown on a loopback address; use localhost, or add the name to --allowed-hosts")
	errForeignOrigin = problem.New(problem.OriginNotAllowed,
		"Origin: requests from pages of other sites are rejected; open the page under the name of this server, or add its host to --allowed-hosts")
)

// sameOrigin rejects requests that a page of another site makes a browser send. If the
// server trusts X-User, such a page could send the name of any user. The check of Host also
// covers DNS rebinding, in which the page points its own host name at a loopback address.
func (a *callers) sameOrigin(c *fiber.Ctx) error {
	if a.auth != nil && !a.auth.ReadsUserHeader() {
		return c.Next()
	}
	host := c.Request().Header.Host()
	if len(host) > 0 && c.Context().LocalIP().IsLoopback() && !a.knows(string(host)) {
		return errForeignHost
	}
	if a.isForeign(c) {
		return errForeignOrigin
	}
	return c.Next()
}

// isForeign reports whether a page of another site made the browser send the request.
func (a *callers) isForeign(c *fiber.Ctx) bool {
	for _, origin := range c.Request().Header.PeekAll(fiber.HeaderOrigin) {
		_, from, ok := strings.Cut(string(origin), "://")
		if !ok || !strings.EqualFold(from, string(c.Request().Header.Host())) && !a.hosts[hostName(from)] {
			return true
		}
	}
	return false
}

// knows reports whether a host name is trusted: localhost, a loopback address or a name
// from the configuration.
func (a *callers) knows(authority string) bool {
	name := hostName(authority)
	if name == "localhost" || a.hosts[name] {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// hostName returns the host of HOST[:PORT] in canonical form: lower case, without brackets
// and without a trailing dot.
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
