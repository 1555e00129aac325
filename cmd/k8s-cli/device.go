package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"k8s-cli/pkg/task"
)

// A session is a login at an OpenID Connect issuer.
type session struct {
	Issuer   string `json:"issuer"`
	ClientID string `json:"client_id"`
	IDToken  string `json:"id_token"`
	Refresh  string `json:"refresh_token,omitempty"`
}

const (
	issuerTimeout = 30 * time.Second
	maxDiscovery  = 1 << 20     // bytes
	nearEnd       = time.Minute // before its end a token is renewed
)

// endpoints asks an issuer where it does what.
func endpoints(ctx context.Context, s session) (*oauth2.Config, error) {
	ctx, cancel := context.WithTimeout(ctx, issuerTimeout)
	defer cancel()
	address := strings.TrimRight(s.Issuer, "/") + "/.well-known/openid-configuration"
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the issuer %s: %w", s.Issuer, err)
	}
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, fmt.Errorf("ask the issuer: %w", err)
	}
	defer response.Body.Close()
	var says struct {
		Issuer string `json:"issuer"`
		Device string `json:"device_authorization_endpoint"`
		Token  string `json:"token_endpoint"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxDiscovery)).Decode(&says); err != nil || says.Issuer != s.Issuer || says.Token == "" {
		return nil, fmt.Errorf("%s does not say what an OpenID Connect issuer of this name says", address)
	}
	return &oauth2.Config{
		ClientID: s.ClientID,
		Scopes:   []string{"openid", "profile", "email", "groups", "offline_access"},
		Endpoint: oauth2.Endpoint{DeviceAuthURL: says.Device, TokenURL: says.Token, AuthStyle: oauth2.AuthStyleInParams},
	}, nil
}

// deviceLogin has the user log in with a browser, which may be on another
// machine, and waits until that is done.
func (e *env) deviceLogin(ctx context.Context, server task.Login) (session, error) {
	if server.By != "oidc" {
		return session{}, errors.New("the server has no OpenID Connect issuer (--auth oidc) to log in at")
	}
	s := session{Issuer: server.Issuer, ClientID: server.ClientID}
	config, err := endpoints(ctx, s)
	if err != nil {
		return s, err
	}
	if config.Endpoint.DeviceAuthURL == "" {
		return s, fmt.Errorf("the issuer %s has no device flow; get an ID token for the client %s and give it with --token-stdin", s.Issuer, s.ClientID)
	}
	code, err := config.DeviceAuth(ctx)
	if err != nil {
		return s, fmt.Errorf("ask the issuer for a code: %w", err)
	}
	fmt.Fprintf(e.errOut, "Open %s and enter the code %s\n", code.VerificationURI, code.UserCode)
	if code.VerificationURIComplete != "" {
		fmt.Fprintf(e.errOut, "or open %s\n", code.VerificationURIComplete)
	}
	got, err := config.DeviceAccessToken(ctx, code)
	if err != nil {
		return s, fmt.Errorf("log in at the issuer: %w", err)
	}
	return s.with(got)
}

// with returns the session as of what the issuer gave.
func (s session) with(got *oauth2.Token) (session, error) {
	id, _ := got.Extra("id_token").(string)
	if id == "" {
		return s, fmt.Errorf("the issuer %s gave no ID token", s.Issuer)
	}
	s.IDToken = id
	if got.RefreshToken != "" {
		s.Refresh = got.RefreshToken
	}
	return s, nil
}

// sessionTokens gives the ID token of a session, renewed when it ends.
func (e *env) sessionTokens(c credential) func(context.Context) (string, error) {
	var mu sync.Mutex
	current := *c.Session
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if time.Until(ends(current.IDToken)) > nearEnd || current.Refresh == "" {
			return current.IDToken, nil
		}
		config, err := endpoints(ctx, current)
		if err != nil {
			return "", err
		}
		got, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: current.Refresh}).Token()
		if err != nil {
			return "", fmt.Errorf("renew your login: %w; log in anew with 'k8s-cli auth login'", err)
		}
		if current, err = current.with(got); err != nil {
			return "", err
		}
		next := current
		c.Session = &next
		return current.IDToken, e.saveCredential(&c)
	}
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
