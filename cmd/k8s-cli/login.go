package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/cmd/k8s-cli/internal/show"
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

func (e *env) login(ctx context.Context, how loginOptions) error {
	switch {
	case how.credentialFlags() > 1:
		return exit.Usagef("--token, --token-stdin, --from-kubeconfig and --device cannot be combined")
	case how.named && how.credentialFlags() > 0:
		return exit.Usagef("USERNAME cannot be combined with a token; remove %q", how.name)
	case how.named:
		return e.loginName(how.name)
	}
	if err := e.checkConfidential(); err != nil {
		return err
	}
	var server task.Login
	var err error
	if how.credentialFlags() == 0 || how.device {
		if server, err = e.dial("").Login(ctx); err != nil && !errors.Is(err, task.ErrNotFound) {
			return err
		}
	}
	if how.credentialFlags() == 0 {
		if err := e.choose(&how, server); err != nil {
			return err
		}
	}
	c, err := e.credentialFor(ctx, how, server)
	if err != nil {
		return err
	}
	return e.loginWith(ctx, c)
}

// choose takes what the server wants, where there is only one way to it.
func (e *env) choose(how *loginOptions, server task.Login) error {
	switch {
	case server.By == "oidc":
		how.issuer = true
		return nil
	case server.By == "tokenreview" && server.Audience != "":
		return exit.Usagef("the server requires a Kubernetes token for the audience %q: "+
			"kubectl create token SERVICEACCOUNT --audience AUDIENCE | k8s-cli auth login --token-stdin", server.Audience)
	case server.By == "tokenreview":
		how.kubeconfig = true
		return e.offerKubeconfig()
	case server.By == "token":
		return exit.Usagef("the server requires a token from its administrator: k8s-cli auth login --token-stdin")
	}
	return exit.Usagef("usage: k8s-cli auth login USERNAME")
}

// offerKubeconfig asks whether the server may have the token of the current
// context, and returns an error unless the answer is yes.
func (e *env) offerKubeconfig() error {
	if !e.interactive {
		return exit.Usagef("the server requires your Kubernetes token, with which it can act as you in the cluster: " +
			"pass --from-kubeconfig to send the token of the current context, or --token-stdin to send another one")
	}
	place, err := currentContext(e.lookup)
	if err != nil {
		return err
	}
	cluster, err := place.cluster()
	if err != nil {
		return err
	}
	e.say("The server requests your Kubernetes token:")
	e.say("  Server:  %s", e.url())
	e.say("  Context: %s", place.Context)
	e.say("  Cluster: %s", cluster)
	e.say("The operator of that server can use the token to act as you in that cluster.")
	yes, err := e.confirm("Send the token to "+e.url()+"?", "--from-kubeconfig")
	if err == nil && !yes {
		err = errors.New("no token was sent")
	}
	return err
}

// credentialFor returns the credential for the login method of the server.
func (e *env) credentialFor(ctx context.Context, how loginOptions, server task.Login) (credential, error) {
	switch {
	case how.tokenStdin:
		raw, err := io.ReadAll(io.LimitReader(e.in, maxToken+1))
		if err != nil {
			return credential{}, fmt.Errorf("read the token: %w", err)
		}
		return tokenCredential(string(raw))
	case how.kubeconfig:
		place, err := currentContext(e.lookup)
		return credential{Kubeconfig: &place}, err
	case how.issuer, how.device:
		session, err := e.issuerLogin(ctx, server, how.device || how.noBrowser)
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

// loginWith asks the server whose proof it is, and keeps it.
func (e *env) loginWith(ctx context.Context, c credential) error {
	if !client.IsConfidential(e.url()) {
		e.warn("%s is not encrypted: others on the network can read your token and act as you; use https://", e.url())
	}
	who, err := e.dial("").WithToken(e.tokens(c)).Whoami(ctx)
	if err != nil {
		return err
	}
	if who.By == "header" {
		return errors.New("the server does not use tokens; run k8s-cli auth login USERNAME")
	}
	c.User = who.User
	if err := e.saveCredential(&c); err != nil {
		return fmt.Errorf("save the credentials: %w", err)
	}
	show.Done(e.out, e.style, "Logged in as: "+who.User)
	return nil
}

// checkConfidential reports whether the connection to the server is private. If it
// is not, the CLI sends no credentials and does not ask the server how to log in.
func (e *env) checkConfidential() error {
	if e.allowsPlainHTTP() || client.IsConfidential(e.url()) {
		return nil
	}
	return fmt.Errorf("%s is plain HTTP: others on the network could read your token and act as you; "+
		"use https://, or pass --insecure-http (%s=true) if you trust the network", e.url(), insecureHTTPEnv)
}
