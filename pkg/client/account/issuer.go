package account

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const (
	issuerTimeout = 30 * time.Second
	maxAnswer     = 1 << 20 // bytes of a response of an issuer
	maxRedirects  = 10
	maxReason     = 300 // characters of an issuer's response in an error
)

// An Issuer is an OpenID Connect issuer with its discovered endpoints.
type Issuer struct {
	URL      string
	Config   oauth2.Config
	Provider *oidc.Provider
	Browser  bool // supports the authorization code flow with PKCE

	Revocation string // endpoint that revokes tokens; may be empty
}

// Discover reads the endpoints of an issuer. All endpoints must use https or a local
// address, even if the user allows plain HTTP for the server: passwords and tokens are
// sent to the endpoints.
func Discover(ctx context.Context, url, clientID string) (Issuer, error) {
	i := Issuer{URL: url}
	if !IsSecureURL(url) {
		return i, fmt.Errorf("the issuer %q is not an https:// URL", url)
	}
	provider, err := oidc.NewProvider(IssuerContext(ctx), url)
	if err != nil {
		return i, i.Failed("ask for its endpoints", err)
	}
	var says struct {
		Keys       string   `json:"jwks_uri"`
		Revocation string   `json:"revocation_endpoint"`
		Challenges []string `json:"code_challenge_methods_supported"`
	}
	if err := provider.Claims(&says); err != nil {
		return i, i.Failed("read its endpoints", err)
	}
	at := provider.Endpoint()
	for _, endpoint := range []string{at.AuthURL, at.DeviceAuthURL, at.TokenURL, says.Keys} {
		if endpoint != "" && !IsSecureURL(endpoint) {
			return i, fmt.Errorf("the issuer %s names the endpoint %q, which is not an https:// URL", url, endpoint)
		}
	}
	i.Revocation = says.Revocation
	at.AuthStyle = oauth2.AuthStyleInParams
	i.Provider, i.Config = provider, oauth2.Config{
		ClientID: clientID,
		Scopes:   []string{"openid", "profile", "email", "groups", "offline_access"},
		Endpoint: at,
	}
	i.Browser = at.AuthURL != "" && (len(says.Challenges) == 0 || slices.Contains(says.Challenges, "S256"))
	return i, nil
}

// IsSecureURL reports whether the CLI may use an address that an issuer names. The
// address must be confidential, and a complete URL, so that a browser does not interpret
// it differently.
func IsSecureURL(address string) bool {
	return strings.Contains(address, "://") && IsConfidential(address)
}

// IssuerClient returns an HTTP client that follows no redirect to another host, because
// requests to an issuer contain codes and refresh tokens.
func IssuerClient() *http.Client {
	return &http.Client{Timeout: issuerTimeout, CheckRedirect: sameHost, Transport: bounded{}}
}

// IssuerContext returns a context with this HTTP client.
func IssuerContext(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, IssuerClient())
}

func sameHost(next *http.Request, before []*http.Request) error {
	switch first := before[0].URL; {
	case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host:
		return fmt.Errorf("the issuer redirects to another host, %s", next.URL)
	case len(before) >= maxRedirects:
		return fmt.Errorf("the issuer redirects more than %d times", maxRedirects)
	}
	return nil
}

// A bounded transport reads at most maxAnswer bytes of a response.
type bounded struct{}

func (bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxAnswer), response.Body}
	}
	return response, err
}

// Failed returns the error of a request to the issuer. It truncates the issuer's response
// to maxReason characters, because the response may be a whole page.
func (i Issuer) Failed(what string, err error) error {
	return fmt.Errorf("%s at the issuer %s: %.*s", what, i.URL, maxReason, err.Error())
}
