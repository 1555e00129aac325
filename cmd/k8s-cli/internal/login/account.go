// Package login logs the user in with each of the server's authentication methods, stores
// the credentials, and creates clients that send them.
package login

import (
	"context"
	"fmt"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/pkg/client"
)

// An Account is the user's account at one server.
type Account struct {
	Console         *console.Console
	Settings        Settings
	URL             string // of the server
	AllowsPlainHTTP bool   // the user accepts that tokens are sent unencrypted
	Dial            func(user string) *client.Client
	Lookup          func(name string) (string, bool) // looks up an environment variable
	Browse          func(address string) error       // opens a page in the user's browser; nil without a browser
}

// Client returns a client with the credentials of the logged-in user.
func (a *Account) Client() (*client.Client, error) {
	c, err := a.Settings.credential(a.URL)
	if err != nil {
		return nil, err
	}
	if c != nil {
		if err := a.checkConfidential(); err != nil {
			return nil, err
		}
		return a.Dial(c.User).WithToken(a.tokens(*c)), nil
	}
	user, err := a.Settings.user()
	if err != nil {
		return nil, err
	}
	return a.Dial(user), nil
}

// LastUser returns the user who logged in last on this machine, without a request to the
// server.
func (a *Account) LastUser() (string, error) {
	if c, err := a.Settings.credential(a.URL); err == nil && c != nil {
		return c.User, nil
	}
	return a.Settings.user()
}

// checkConfidential returns an error if the connection to the server is not private. The
// CLI then sends no credentials and does not ask the server how to log in.
func (a *Account) checkConfidential() error {
	if a.AllowsPlainHTTP || client.IsConfidential(a.URL) {
		return nil
	}
	return fmt.Errorf("%s is plain HTTP: others on the network could read your token and act as you; "+
		"use https://, or pass --insecure-http (K8S_CLI_INSECURE_HTTP=true) if you trust the network", a.URL)
}

// tokens returns a function that returns the token of a credential.
func (a *Account) tokens(c credential) func(context.Context) (string, error) {
	switch {
	case c.Kubeconfig != nil:
		return once(func(ctx context.Context) (string, error) { return c.Kubeconfig.token(ctx, a.Console.ErrOut) })
	case c.Session != nil:
		return sessionTokens(*c.Session, func(s session) error {
			c.Session = &s
			return a.Settings.saveCredential(a.URL, &c)
		})
	}
	return func(context.Context) (string, error) { return c.Token, nil }
}
