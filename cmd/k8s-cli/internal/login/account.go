// Package login says who the user is: it logs in to a server by each of its methods,
// keeps the credentials, and makes clients that show them.
package login

import (
	"context"
	"fmt"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/pkg/client"
)

// An Account is what the user is to one server.
type Account struct {
	Console         *console.Console
	Settings        Settings
	URL             string // of the server
	AllowsPlainHTTP bool   // the user accepts that others on the network see tokens
	Dial            func(user string) *client.Client
	Lookup          func(name string) (string, bool) // in the environment
	Browse          func(address string) error       // opens a page where the user sees it; nil if there is no browser
}

// Client returns a client that asks in the name of who is logged in.
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

// LastUser returns who logged in last on this machine, whatever the server says.
func (a *Account) LastUser() (string, error) {
	if c, err := a.Settings.credential(a.URL); err == nil && c != nil {
		return c.User, nil
	}
	return a.Settings.user()
}

// LogOut forgets what proves to the server who the user is.
func (a *Account) LogOut() error { return a.Settings.saveCredential(a.URL, nil) }

// checkConfidential reports whether the connection to the server is private. If it
// is not, the CLI sends no credentials and does not ask the server how to log in.
func (a *Account) checkConfidential() error {
	if a.AllowsPlainHTTP || client.IsConfidential(a.URL) {
		return nil
	}
	return fmt.Errorf("%s is plain HTTP: others on the network could read your token and act as you; "+
		"use https://, or pass --insecure-http (K8S_CLI_INSECURE_HTTP=true) if you trust the network", a.URL)
}

// tokens returns what gives the token that a credential stands for.
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
