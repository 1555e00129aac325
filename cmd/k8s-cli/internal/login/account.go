// Package login logs the user in with each authentication method. It also creates clients that
// send the stored credentials.
package login

import (
	"fmt"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/account"
)

// An Account is the user's account at one server.
type Account struct {
	Console         *console.Console
	Settings        account.Settings
	URL             string // of the server
	AllowsPlainHTTP bool   // the user accepts that tokens are sent unencrypted
	Dial            func(user string) *client.Client
	Environment     account.Environment
	Browse          func(address string) error // opens a page in the user's browser; nil without a browser
}

// Client returns a client with the credentials of the logged-in user.
func (a *Account) Client() (*client.Client, error) {
	l, err := a.login()
	switch {
	case err != nil:
		return nil, err
	case l.Token == nil:
		return a.Dial(l.User), nil
	}
	if err := a.checkConfidential(); err != nil {
		return nil, err
	}
	return a.Dial(l.User).WithToken(l.Token), nil
}

// LastUser returns the user of the requests, without a request to the server.
func (a *Account) LastUser() (string, error) {
	l, err := a.login()
	return l.User, err
}

func (a *Account) login() (account.Login, error) {
	return a.Settings.Login(a.URL, a.Environment, a.Console.ErrOut)
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
