// Package callback defines the URLs of notifications. It says which URLs a server accepts, and
// to which addresses it connects.
package callback

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	// Param is the query parameter of a submission that sets the URL.
	Param = "notify"

	// Field is the field of a task that holds the URL.
	Field = "event_callback"

	// SecretPath is the route of the secret that verifies the signatures.
	SecretPath = "/notify/secret"

	maxURL = 2048 // bytes

	privatePrefix = "private:" // of patterns whose hosts may have private addresses
	localhost     = "localhost"
)

// A Secret is the response of GET /notify/secret.
type Secret struct {
	Secret string `json:"secret"` // in the form of Standard Webhooks: whsec_ and Base64
}

// ErrDisabled says that the server sends no notifications.
var ErrDisabled = problem.New(problem.FeatureDisabled, Field+": this server sends no notifications; its administrator can set --notify-hosts and --secrets-key-file")

// FormatSecret returns a secret in the form of Standard Webhooks.
func FormatSecret(secret []byte) string {
	return "whsec_" + base64.StdEncoding.EncodeToString(secret)
}

// IsURL reports whether the value of event_callback is a URL. In SkyPilot, the value is a shell
// command.
func IsURL(value string) bool {
	value = strings.ToLower(value)
	return strings.HasPrefix(value, "https://") || strings.HasPrefix(value, "http://")
}

// Hosts lists the hosts that may receive notifications. Empty Hosts mean that the server sends
// none.
type Hosts []pattern

// A pattern is one item of --notify-hosts.
type pattern struct {
	host    string     // in lower case; with the prefix "." for all hosts below a domain
	port    string     // empty means the default port of the scheme
	address netip.Addr // valid if host is an IP address
	private bool       // the host may have a private address
}

// ParseHosts parses the items of --notify-hosts: a host, *.DOMAIN or an IP address, each with an
// optional port. The prefix private: allows private addresses of the host.
func ParseHosts(items []string) (Hosts, error) {
	var hosts Hosts
	for _, item := range items {
		p, err := parsePattern(item)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, p)
	}
	return hosts, nil
}

func parsePattern(item string) (p pattern, err error) {
	wrong := fmt.Errorf("%s is not a host such as hooks.example.com, *.example.com or private:hooks.example.com:8443", task.Quote(item))
	rest, private := strings.CutPrefix(item, privatePrefix)
	rest, all := strings.CutPrefix(rest, "*.")
	u, err := url.Parse("https://" + rest + "/")
	if err != nil || u.Hostname() == "" || u.User != nil || u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return p, wrong
	}
	p = pattern{host: strings.ToLower(u.Hostname()), port: u.Port(), private: private}
	if address, err := netip.ParseAddr(p.host); err == nil {
		p.address = address.Unmap()
	}
	switch {
	case p.address.IsValid() && (all || p.address.Zone() != ""):
		return p, wrong
	case !p.address.IsValid() && !task.IsSubdomain(p.host):
		return p, wrong
	case all:
		p.host = "." + p.host
	}
	return p, nil
}

// Check returns an error if the server may not send notifications to a URL.
func (h Hosts) Check(text string) error {
	if len(h) == 0 {
		return ErrDisabled
	}
	u, err := parseURL(text)
	if err != nil {
		return problem.New(problem.Invalid, Field+": "+err.Error())
	}
	if _, ok := h.find(u.Hostname(), portOf(u)); !ok {
		return problem.New(problem.NotAllowed, fmt.Sprintf("%s: the host %s is not allowed on this server; its administrator can add it to --notify-hosts", Field, task.Quote(u.Host)))
	}
	return nil
}

// parseURL parses a URL that a receiver can have.
func parseURL(text string) (*url.URL, error) {
	if len(text) > maxURL {
		return nil, fmt.Errorf("the URL is longer than %d bytes; shorten it", maxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "":
		return nil, errors.New("the value is not a URL; use the form https://HOST/PATH") // without the value, which may contain a password
	case u.User != nil:
		return nil, errors.New("the URL contains a user name or a password; remove them")
	case u.Fragment != "":
		return nil, errors.New("the URL contains a fragment (#); remove it")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return u, nil
	}
	return nil, errors.New("the URL must begin with https://; http:// is only for localhost and loopback addresses")
}

// isLoopback reports whether a name means this machine in every network.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, localhost) || err == nil && address.Unmap().IsLoopback()
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	}
	return "443"
}

// isDefaultPort reports whether a pattern without a port matches the port.
func isDefaultPort(host, port string) bool { return port == "443" || port == "80" && isLoopback(host) }

// find returns the patterns that match a host and a port; ok is false if no pattern matches. The
// result allows what any of them allows.
func (h Hosts) find(host, port string) (found pattern, ok bool) {
	host = strings.ToLower(host)
	address, err := netip.ParseAddr(host)
	for _, p := range h {
		if p.port != port && (p.port != "" || !isDefaultPort(host, port)) {
			continue
		}
		switch {
		case err == nil && p.address == address.Unmap(),
			err != nil && p.host == host,
			err != nil && p.host[0] == '.' && strings.HasSuffix(host, p.host):
			p.private = p.private || found.private
			found, ok = p, true
		}
	}
	return found, ok
}

// CheckAddress returns an error if the server may not connect to an address of a host. A name
// may resolve to any address, so the server calls CheckAddress for each connection.
func (h Hosts) CheckAddress(host, port string, to netip.Addr) error {
	p, ok := h.find(host, port)
	if !ok {
		return errors.New("the host is not among --notify-hosts")
	}
	if !p.reaches(to.Unmap()) {
		return fmt.Errorf("%s is not an address that --notify-hosts allows for the host", to)
	}
	return nil
}

// reaches reports whether a host of the pattern may have an address.
func (p pattern) reaches(to netip.Addr) bool {
	switch {
	case p.address.IsValid():
		return to == p.address
	case p.host == localhost:
		return to.IsLoopback()
	case among(private, to):
		return p.private
	}
	return to.IsGlobalUnicast() && !among(notPublic, to)
}

func among(networks []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(a) })
}

// private lists the networks that the prefix private: allows.
var private = networks("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")

// notPublic lists further networks of the IANA special-purpose registries: they hold no public
// hosts, or their addresses contain an address of another network.
var notPublic = networks(
	"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
	"198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3",
	"::/16", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "fe80::/10", "fec0::/10", "ff00::/8",
)

func networks(texts ...string) (all []netip.Prefix) {
	for _, text := range texts {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
