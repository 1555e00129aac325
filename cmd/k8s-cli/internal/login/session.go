package login

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

// A session is a login at an OpenID Connect issuer.
type session struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	IDToken  string `json:"id_token"`
	Refresh  string `json:"refresh_token,omitempty"`
}

const nearEnd = time.Minute // before its end a token is renewed

// with returns the session as of what the issuer gave.
func (s session) with(got *oauth2.Token) (session, error) {
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

// sessionTokens gives the ID token of a session, renewed when it ends; save keeps the
// renewed session.
func sessionTokens(current session, save func(session) error) func(context.Context) (string, error) {
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

// renew gets another ID token for the refresh token.
func (s session) renew(ctx context.Context) (session, error) {
	i, err := discover(ctx, s.Issuer, s.ClientID)
	if err != nil {
		return s, err
	}
	got, err := i.config.TokenSource(issuerContext(ctx), &oauth2.Token{RefreshToken: s.Refresh}).Token()
	if err != nil {
		return s, i.failed("get a token", err)
	}
	return s.with(got)
}

// ends returns when an ID token ends, by its own words.
func ends(token string) time.Time {
	_, rest, _ := strings.Cut(token, ".")
	middle, _, _ := strings.Cut(rest, ".")
	raw, _ := base64.RawURLEncoding.DecodeString(middle)
	var claims struct {
		Expiry float64 `json:"exp"`
	}
	_ = json.Unmarshal(raw, &claims) // one that cannot be read has ended
	return time.Unix(int64(claims.Expiry), 0)
}
