package account

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// A Session is a login at an OpenID Connect issuer.
type Session struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	IDToken  string `json:"id_token"`
	Refresh  string `json:"refresh_token,omitempty"`
}

const nearEnd = time.Minute // a token with less time than this until its expiry is renewed

// With returns the session with the ID token and the refresh token of got.
func (s Session) With(got *oauth2.Token) (Session, error) {
	id, _ := got.Extra("id_token").(string)
	if id == "" {
		return s, fmt.Errorf("the issuer %s returned no ID token", s.Issuer)
	}
	s.IDToken = id
	if got.RefreshToken != "" {
		s.Refresh = got.RefreshToken
	}
	return s, nil
}

// sessionTokens returns a function that returns the ID token of a session. The function
// renews the ID token before its expiry and stores the renewed session with save.
func sessionTokens(current Session, save func(Session) error) func(context.Context) (string, error) {
	var mu sync.Mutex
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Until(ends(current.IDToken)) > nearEnd || current.Refresh == "" {
			return current.IDToken, nil
		}
		next, err := current.renew(ctx)
		if err != nil {
			return "", fmt.Errorf("renew your login: %w; log in again with 'k8s-cli auth login'", err)
		}
		current = next
		return current.IDToken, save(current)
	}
}

// renew gets a new ID token with the refresh token.
func (s Session) renew(ctx context.Context) (Session, error) {
	i, err := Discover(ctx, s.Issuer, s.ClientID)
	if err != nil {
		return s, err
	}
	got, err := i.Config.TokenSource(IssuerContext(ctx), &oauth2.Token{RefreshToken: s.Refresh}).Token()
	if err != nil {
		return s, i.Failed("get a token", err)
	}
	return s.With(got)
}

// ends returns the expiry in the claims of an ID token, without a check of the signature.
func ends(token string) time.Time {
	_, rest, _ := strings.Cut(token, ".")
	middle, _, _ := strings.Cut(rest, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(middle)
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	_ = json.Unmarshal(raw, &claims) // an unreadable token counts as expired
	return time.Unix(int64(claims.Expiry), 0)
}
