package client

import (
	"errors"
	"fmt"
	"net/http"

	"k8s-cli/pkg/client/account"
)

// ErrPlainHTTP is the kind of error of a request that would send a token over plain HTTP to
// another machine.
var ErrPlainHTTP = errors.New("plain HTTP shows a token to everybody on the network")

// AllowPlainHTTP allows the client to send the token over plain HTTP to another machine.
// AllowPlainHTTP returns c.
func (c *Client) AllowPlainHTTP() *Client {
	c.plain = true
	return c
}

// IsConfidential reports whether a request to address is hidden from the network: either TLS
// encrypts the request, or the request does not leave this machine. An address without a scheme
// means plain HTTP, as for New.
func IsConfidential(address string) bool { return account.IsConfidential(address) }

// refuseRedirect makes the client return a redirect instead of following the redirect. A
// request contains the user name or a token and may contain secrets, so the client sends
// the request only to the server that the user named.
func refuseRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// redirection returns an error message if response is a redirect, or else "".
func (c *Client) redirection(response *http.Response) string {
	to, err := response.Location()
	if err != nil || response.StatusCode < 300 || response.StatusCode > 399 {
		return ""
	}
	return fmt.Sprintf("the API server at %s redirects to %s, and no redirect is followed: give that URL as the server's if you trust it", c.url, to)
}
