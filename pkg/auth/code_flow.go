package auth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"k8s-cli/pkg/task"
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
// kind task.ErrUnavailable.
func (o *OIDC) AuthCodeURL(ctx context.Context, f CodeFlow) (string, error) {
	if _, err := o.Verifier(ctx); err != nil {
		return "", err
	}
	config := o.codeFlow(f.Redirect)
	return config.AuthCodeURL(f.State, oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)), nil
}

// Exchange returns the principal for whom the issuer issued an authorization code, and when the
// ID token expires.
func (o *OIDC) Exchange(ctx context.Context, f CodeFlow, code string) (Principal, time.Time, error) {
	if _, err := o.Verifier(ctx); err != nil {
		return Principal{}, time.Time{}, err
	}
	asking, cancel := context.WithTimeout(oidc.ClientContext(ctx, o.http), lookupTimeout)
	defer cancel()
	config := o.codeFlow(f.Redirect)
	got, err := config.Exchange(asking, code, oauth2.VerifierOption(f.Verifier))
	if refused, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		return Principal{}, time.Time{}, task.Error(task.ErrUnauthorized, fmt.Sprintf("the issuer %s rejected the login (%s); log in again", o.config.Issuer, task.Quote(refused.ErrorCode)))
	}
	if err != nil {
		return Principal{}, time.Time{}, task.Error(task.ErrUnavailable, fmt.Sprintf("the issuer %s does not answer: %v; try again", o.config.Issuer, err))
	}
	token, _ := got.Extra("id_token").(string)
	return o.Check(ctx, token, f.Nonce)
}

// Check returns the principal of an ID token, and when the token expires. If nonce is not empty,
// the token must contain it.
func (o *OIDC) Check(ctx context.Context, token, nonce string) (Principal, time.Time, error) {
	token, err := tokenOf(task.Credentials{Token: token})
	if err != nil {
		return Principal{}, time.Time{}, err
	}
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
