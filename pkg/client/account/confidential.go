package account

import (
	"net"
	"net/url"
	"strings"
)

// IsConfidential reports whether a request to address is hidden from the network: either TLS
// encrypts the request, or the request does not leave this machine. An address without a scheme
// means plain HTTP.
func IsConfidential(address string) bool {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "":
		return false
	case u.Scheme == "https":
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
