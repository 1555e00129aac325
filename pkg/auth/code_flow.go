package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A CodeFlow is one login of a browser at the issuer: the authorization code flow with PKCE
// (RFC 7636). The secrets of the flow stay with the browser that began it.
type CodeFlow struct {
	Redirect string `json:"r"` // URL of the server to which the issuer sends the browser back
	State    string `json:"s"`
	Nonce    string `json:"n"`
	Verifier string `json:"v"`
}

// scopes are the scopes that a login of a browser requests.
var scopes = []string{oidc.ScopeOpenID, "profile", "email", "groups"}

func (o *OIDC) codeFlow(redirect string) oauth2.Config {
	endpoint := o.endpoint
	endpoint.AuthStyle = oauth2.AuthStyleInParams
	return oauth2.Config{ClientID: o.config.Audience, Endpoint: endpoint, RedirectURL: redirect, Scopes: scopes}
}

// AuthCodeURL returns the URL at which the issuer asks the user to log in. The error is of
// kind problem.Unavailable, or problem.Forbidden if the issuer does not support this flow.
func (o *OIDC) AuthCodeURL(ctx context.Context, f CodeFlow) (string, error) {
	if _, err := o.Verifier(ctx); err != nil {
		return "", err
	}
	config := o.codeFlow(f.Redirect)
	if config.Endpoint.AuthURL == "" || config.Endpoint.TokenURL == "" {
		return "", problem.New(problem.Forbidden, fmt.Sprintf("the issuer %s does not support the authorization code flow; log in with an ID token", o.config.Issuer))
	}
	return config.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// Exchange returns the principal for whom the issuer issued an authorization code, and when the
// ID token expires. peer is the address of the browser.
func (o *OIDC) Exchange(ctx context.Context, peer netip.Addr, f CodeFlow, code string) (Principal, time.Time, error) {
	token, err := o.exchange(ctx, peer, f, code)
	if err != nil {
		return Principal{}, time.Time{}, err
	}
	return o.Check(ctx, peer, token, f.Nonce)
}

// exchange returns the ID token for an authorization code. The token is not verified yet.
func (o *OIDC) exchange(ctx context.Context, peer netip.Addr, f CodeFlow, code string) (string, error) {
	if _, err := o.Verifier(ctx); err != nil {
		return "", err
	}
	end, err := o.codes.acquire(peer, false)
	if err != nil {
		return "", err
	}
	defer end()
	direct := *o.http // the code and the verifier are for the token endpoint and for no other URL
	direct.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	asking, cancel := context.WithTimeout(oidc.ClientContext(ctx, &direct), lookupTimeout)
	defer cancel()
	config := o.codeFlow(f.Redirect)
	got, err := config.Exchange(asking, code, oauth2.VerifierOption(f.Verifier))
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case ok && refused.ErrorCode != "":
		return "", o.Refused(refused.ErrorCode, refused.ErrorDescription)
	case ok: // the text of the error would contain the response
		return "", o.unavailable(errors.New("status " + refused.Response.Status))
	case err != nil:
		return "", o.unavailable(err)
	}
	token, _ := got.Extra("id_token").(string)
	if token == "" {
		return "", o.unavailable(errors.New("the response has no ID token"))
	}
	return token, nil
}

// Refused returns the error of a login that the issuer rejected with an error code and perhaps a
// description (RFC 6749, section 4.1.2.1).
func (o *OIDC) Refused(code, description string) error {
	why := task.Quote(code)
	if description != "" {
		why += ": " + task.Quote(description)
	}
	return problem.New(problem.Unauthorized, fmt.Sprintf("the issuer %s rejected the login (%s); log in again", o.config.Issuer, why))
}

func (o *OIDC) unavailable(err error) error {
	return problem.New(problem.Unavailable, fmt.Sprintf("the issuer %s cannot complete the login: %v; try again", o.config.Issuer, err))
}

// Check returns the principal of an ID token, and when the token expires. If nonce is not empty,
// the token must contain it. peer is the address of the browser.
func (o *OIDC) Check(ctx context.Context, peer netip.Addr, token, nonce string) (Principal, time.Time, error) {
	token, err := tokenOf(task.Credentials{Token: token})
	if err != nil {
		return Principal{}, time.Time{}, err
	}
	end, err := o.lookups.acquire(peer, false)
	if err != nil {
		return Principal{}, time.Time{}, err
	}
	defer end()
	checked, err := o.check(ctx, token)
	if err != nil {
		return Principal{}, time.Time{}, err
	}
	if nonce != "" && subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(nonce)) != 1 {
		return Principal{}, time.Time{}, rejected(errors.New("it is for another login"))
	}
	p, err := o.principal(checked)
	return p, checked.Expiry, err
}

// Meaning returns the settings that decide which user and groups an ID token identifies. Meaning of
// a nil *OIDC is nil.
func (o *OIDC) Meaning() []any {
	if o == nil {
		return nil
	}
	return []any{o.config.Issuer, o.config.Audience, o.config.UserClaim, o.config.GroupsClaim, o.config.RequireVerified}
}
