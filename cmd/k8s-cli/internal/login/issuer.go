package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

const (
	issuerTimeout = 30 * time.Second
	maxAnswer     = 1 << 20 // bytes of a response of an issuer
	maxRedirects  = 10
	maxReason     = 300 // characters of an issuer's response in an error
)

// An issuer is an OpenID Connect issuer with its discovered endpoints.
type issuer struct {
	url      string
	config   oauth2.Config
	provider *oidc.Provider
	browser  bool // supports the authorization code flow with PKCE

	revocation string // endpoint that revokes tokens; empty if there is none
}

// discover reads the endpoints of an issuer. All endpoints must use https or a local
// address, even if the user allows plain HTTP for the server: passwords and tokens are
// sent to the endpoints.
func discover(ctx context.Context, url, clientID string) (issuer, error) {
	i := issuer{url: url}
	if !isSecureURL(url) {
		return i, fmt.Errorf("the issuer %q is not an https:// URL", url)
	}
	provider, err := oidc.NewProvider(issuerContext(ctx), url)
	if err != nil {
		return i, i.failed("ask for its endpoints", err)
	}
	var says struct {
		Keys       string   `json:"jwks_uri"`
		Revocation string   `json:"revocation_endpoint"`
		Challenges []string `json:"code_challenge_methods_supported"`
	}
	if err := provider.Claims(&says); err != nil {
		return i, i.failed("read its endpoints", err)
	}
	at := provider.Endpoint()
	for _, endpoint := range []string{at.AuthURL, at.DeviceAuthURL, at.TokenURL, says.Keys} {
		if endpoint != "" && !isSecureURL(endpoint) {
			return i, fmt.Errorf("the issuer %s names the endpoint %q, which is not an https:// URL", url, endpoint)
		}
	}
	i.revocation = says.Revocation
	at.AuthStyle = oauth2.AuthStyleInParams
	i.provider, i.config = provider, oauth2.Config{
		ClientID: clientID,
		Scopes:   []string{"openid", "profile", "email", "groups", "offline_access"},
		Endpoint: at,
	}
	i.browser = at.AuthURL != "" && (len(says.Challenges) == 0 || slices.Contains(says.Challenges, "S256"))
	return i, nil
}

// isSecureURL reports whether the CLI may use an address that an issuer names. The
// address must be confidential, and a complete URL, so that a browser does not interpret
// it differently.
func isSecureURL(address string) bool {
	return strings.Contains(address, "://") && client.IsConfidential(address)
}

// issuerClient returns an HTTP client that follows no redirect to another host, because
// requests to an issuer contain codes and refresh tokens.
func issuerClient() *http.Client {
	return &http.Client{Timeout: issuerTimeout, CheckRedirect: sameHost, Transport: bounded{}}
}

// issuerContext returns a context with this HTTP client.
func issuerContext(ctx context.Context) context.Context {
	return oidc.ClientContext(ctx, issuerClient())
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

// failed returns the error of a request to the issuer. It truncates the issuer's response
// to maxReason characters, because the response may be a whole page.
func (i issuer) failed(what string, err error) error {
	return fmt.Errorf("%s at the issuer %s: %.*s", what, i.url, maxReason, err.Error())
}

// logInAtIssuer logs the user in at the issuer that the server names. It uses the browser
// of this machine or, with byCode, a code that the user enters in any browser. expected is the issuer
// that the user expects, if not empty; otherwise the user confirms an issuer that is new for this
// server, because the server gets an ID token of the user.
func (a *Account) logInAtIssuer(ctx context.Context, server task.Login, expected string, byCode bool) (session, error) {
	if server.By != "oidc" {
		return session{}, errors.New("the server has no OpenID Connect issuer; it does not run with --auth oidc")
	}
	a.Console.Say("The server uses an OpenID Connect issuer:")
	a.Console.Say("  Server:    %s", a.URL)
	a.Console.Say("  Issuer:    %s", server.Issuer)
	a.Console.Say("  Client ID: %s", server.ClientID)
	a.Console.Say("The server receives your name, email address and groups from the issuer.")
	a.Console.Say("Log in only if you recognize the server, the issuer and the client ID.")
	if err := a.confirmIssuer(server, expected); err != nil {
		return session{}, err
	}
	i, err := discover(ctx, server.Issuer, server.ClientID)
	switch {
	case err != nil:
		return session{}, err
	case !byCode && a.Console.Interactive && i.browser && a.Browse != nil:
		return i.logInWithBrowser(ctx, a.Console, a.Browse)
	case i.config.Endpoint.DeviceAuthURL != "":
		return i.logInWithCode(ctx, a.Console)
	case i.browser:
		return session{}, fmt.Errorf("the issuer %s has no device flow, and this machine has no browser or terminal; "+
			"log in on a machine with a browser, or get an ID token for the client %s and pass it with --token-stdin", i.url, server.ClientID)
	}
	return session{}, fmt.Errorf("the issuer %s supports neither the device flow nor a login in the browser; get an ID token for the client %s and pass it with --token-stdin",
		i.url, server.ClientID)
}

// confirmIssuer returns an error unless the user expects the issuer, has logged in with it at this
// server, or confirms it.
func (a *Account) confirmIssuer(server task.Login, expected string) error {
	c, err := a.Settings.credential(a.URL)
	known := err == nil && c != nil && c.Session != nil && c.Session.Issuer == server.Issuer && c.Session.ClientID == server.ClientID
	switch {
	case expected != "" && expected != server.Issuer:
		return fmt.Errorf("--issuer: the server uses the issuer %s", server.Issuer)
	case expected != "" || known:
		return nil
	}
	yes, err := a.Console.Confirm("Log in at this issuer?", "--issuer URL")
	if err == nil && !yes {
		err = errors.New("no login was started")
	}
	return err
}

// session returns the session for a new token. The ID token must be signed by the issuer,
// for the client, and have the nonce of this login if the nonce is not empty. The server
// checks the expiry of the ID token.
func (i issuer) session(ctx context.Context, got *oauth2.Token, nonce string) (session, error) {
	s, err := session{Issuer: i.url, ClientID: i.config.ClientID}.with(got)
	if err != nil {
		return s, err
	}
	verifier := i.provider.VerifierContext(issuerContext(ctx), &oidc.Config{ClientID: s.ClientID, SkipExpiryCheck: true})
	token, err := verifier.Verify(ctx, s.IDToken)
	if err != nil {
		return s, i.failed("check the ID token", err)
	}
	if nonce != "" && token.Nonce != nonce {
		return s, fmt.Errorf("the issuer %s returned an ID token of another login (wrong nonce); log in again", i.url)
	}
	return s, nil
}
