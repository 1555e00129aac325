package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// loginOptions say by what to log in.
type loginOptions struct {
	name       string
	named      bool
	token      string
	tokenStdin bool
	kubeconfig bool
	device     bool
	noBrowser  bool
	issuer     bool // the server wants a login at its issuer
}

// credentialFlags returns how many proofs are to be shown.
func (o loginOptions) credentialFlags() (n int) {
	for _, wanted := range []bool{o.token != "", o.tokenStdin, o.kubeconfig, o.device} {
		if wanted {
			n++
		}
	}
	return n
}

const maxToken = 16 << 10 // bytes, as the server reads them

// An account is what the user is to one server.
type account struct {
	screen          *console.Console
	settings        settings
	url             string // of the server
	allowsPlainHTTP bool   // the user accepts that others on the network see tokens
	dial            func(user string) *client.Client
	lookup          func(name string) (string, bool) // in the environment
	browse          func(address string) error       // opens a page where the user sees it; nil if there is no browser
}

// client returns a client that asks in the name of who is logged in.
func (a *account) client() (*client.Client, error) {
	c, err := a.settings.credential(a.url)
	if err != nil {
		return nil, err
	}
	if c != nil {
		if err := a.checkConfidential(); err != nil {
			return nil, err
		}
		return a.dial(c.User).WithToken(a.tokens(*c)), nil
	}
	user, err := a.settings.user()
	if err != nil {
		return nil, err
	}
	return a.dial(user), nil
}

// lastUser returns who logged in last on this machine, whatever the server says.
func (a *account) lastUser() (string, error) {
	if c, err := a.settings.credential(a.url); err == nil && c != nil {
		return c.User, nil
	}
	return a.settings.user()
}

// logOut forgets what proves to the server who the user is.
func (a *account) logOut() error { return a.settings.saveCredential(a.url, nil) }

// logIn logs in as the options say, or by the method of the server.
func (a *account) logIn(ctx context.Context, how loginOptions) error {
	switch {
	case how.credentialFlags() > 1:
		return exit.Usagef("--token, --token-stdin, --from-kubeconfig and --device cannot be combined")
	case how.named && how.credentialFlags() > 0:
		return exit.Usagef("USERNAME cannot be combined with a token; remove %q", how.name)
	case how.named:
		return a.logInByName(how.name)
	}
	if err := a.checkConfidential(); err != nil {
		return err
	}
	var server task.Login
	var err error
	if how.credentialFlags() == 0 || how.device {
		if server, err = a.dial("").Login(ctx); err != nil && !errors.Is(err, task.ErrNotFound) {
			return err
		}
	}
	if how.credentialFlags() == 0 {
		if err := a.choose(&how, server); err != nil {
			return err
		}
	}
	c, err := a.credentialFor(ctx, how, server)
	if err != nil {
		return err
	}
	return a.logInWith(ctx, c)
}

// choose takes what the server wants, where there is only one way to it.
func (a *account) choose(how *loginOptions, server task.Login) error {
	switch {
	case server.By == "oidc":
		how.issuer = true
		return nil
	case server.By == "tokenreview" && server.Audience != "":
		return exit.Usagef("the server requires a Kubernetes token for the audience %q: "+
			"kubectl create token SERVICEACCOUNT --audience AUDIENCE | k8s-cli auth login --token-stdin", server.Audience)
	case server.By == "tokenreview":
		how.kubeconfig = true
		return a.offerKubeconfig()
	case server.By == "token":
		return exit.Usagef("the server requires a token from its administrator: k8s-cli auth login --token-stdin")
	}
	return exit.Usagef("usage: k8s-cli auth login USERNAME")
}

// offerKubeconfig asks whether the server may have the token of the current
// context, and returns an error unless the answer is yes.
func (a *account) offerKubeconfig() error {
	if !a.screen.Interactive {
		return exit.Usagef("the server requires your Kubernetes token, with which it can act as you in the cluster: " +
			"pass --from-kubeconfig to send the token of the current context, or --token-stdin to send another one")
	}
	place, err := currentContext(a.lookup)
	if err != nil {
		return err
	}
	cluster, err := place.cluster()
	if err != nil {
		return err
	}
	a.screen.Say("The server requests your Kubernetes token:")
	a.screen.Say("  Server:  %s", a.url)
	a.screen.Say("  Context: %s", place.Context)
	a.screen.Say("  Cluster: %s", cluster)
	a.screen.Say("The operator of that server can use the token to act as you in that cluster.")
	yes, err := a.screen.Confirm("Send the token to "+a.url+"?", "--from-kubeconfig")
	if err == nil && !yes {
		err = errors.New("no token was sent")
	}
	return err
}

// credentialFor returns the credential for the login method of the server.
func (a *account) credentialFor(ctx context.Context, how loginOptions, server task.Login) (credential, error) {
	switch {
	case how.tokenStdin:
		raw, err := io.ReadAll(io.LimitReader(a.screen.In, maxToken+1))
		if err != nil {
			return credential{}, fmt.Errorf("read the token: %w", err)
		}
		return tokenCredential(string(raw))
	case how.kubeconfig:
		place, err := currentContext(a.lookup)
		return credential{Kubeconfig: &place}, err
	case how.issuer, how.device:
		session, err := a.logInAtIssuer(ctx, server, how.device || how.noBrowser)
		return credential{Session: &session}, err
	}
	return tokenCredential(how.token)
}

func tokenCredential(token string) (credential, error) {
	token = strings.TrimSpace(token)
	switch {
	case token == "":
		return credential{}, errors.New("the token is empty")
	case len(token) > maxToken || strings.ContainsAny(token, " \t\r\n"):
		return credential{}, fmt.Errorf("the token must be one word of at most %d bytes", maxToken)
	}
	return credential{Token: token}, nil
}

// logInWith asks the server whose proof it is, and keeps it.
func (a *account) logInWith(ctx context.Context, c credential) error {
	if !client.IsConfidential(a.url) {
		a.screen.Warn("%s is not encrypted: others on the network can read your token and act as you; use https://", a.url)
	}
	who, err := a.dial("").WithToken(a.tokens(c)).Whoami(ctx)
	if err != nil {
		return err
	}
	if who.By == "header" {
		return errors.New("the server does not use tokens; run k8s-cli auth login USERNAME")
	}
	c.User = who.User
	if err := a.settings.saveCredential(a.url, &c); err != nil {
		return fmt.Errorf("save the credentials: %w", err)
	}
	a.screen.Done("Logged in as: " + who.User)
	return nil
}

// checkConfidential reports whether the connection to the server is private. If it
// is not, the CLI sends no credentials and does not ask the server how to log in.
func (a *account) checkConfidential() error {
	if a.allowsPlainHTTP || client.IsConfidential(a.url) {
		return nil
	}
	return fmt.Errorf("%s is plain HTTP: others on the network could read your token and act as you; "+
		"use https://, or pass --insecure-http (%s=true) if you trust the network", a.url, insecureHTTPEnv)
}

// logInByName sets the user by name alone.
func (a *account) logInByName(name string) error {
	name = strings.TrimSpace(name)
	if err := checkUser(name); err != nil {
		return err
	}
	err := a.settings.saveUser(name)
	if err == nil {
		err = a.logOut()
	}
	if err != nil {
		return fmt.Errorf("Failed to save user: %w", err) //nolint:staticcheck // the original's words
	}
	a.screen.Done("Logged in as: " + name)
	return nil
}

// checkUser reports whether the server could take name in a header.
func checkUser(name string) error {
	if err := task.CheckUser(name); err != nil {
		return fmt.Errorf("the username %w", err)
	}
	return nil
}

// tokens returns what gives the token that a credential stands for.
func (a *account) tokens(c credential) func(context.Context) (string, error) {
	switch {
	case c.Kubeconfig != nil:
		return once(func(ctx context.Context) (string, error) { return c.Kubeconfig.token(ctx, a.screen.ErrOut) })
	case c.Session != nil:
		return sessionTokens(*c.Session, func(s session) error {
			c.Session = &s
			return a.settings.saveCredential(a.url, &c)
		})
	}
	return func(context.Context) (string, error) { return c.Token, nil }
}
