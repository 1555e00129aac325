package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/show"
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
}

// proofs returns how many proofs are to be shown.
func (o loginOptions) proofs() (n int) {
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
	case how.proofs() > 1:
		return misused("give only one of --token, --token-stdin, --from-kubeconfig and --device")
	case how.named && how.proofs() > 0:
		return misused("the name is what the server makes of the token: leave out %s", how.name)
	case how.named:
		return e.loginName(how.name)
	}
	var server task.Login
	var err error
	if how.proofs() == 0 || how.device {
		if server, err = e.connect(e.url(), "").Login(ctx); err != nil && !errors.Is(err, task.ErrNotFound) {
			return err
		}
	}
	if how.proofs() == 0 {
		if err := how.choose(server); err != nil {
			return err
		}
	}
	c, err := e.proof(ctx, how, server)
	if err != nil {
		return err
	}
	return e.loginWith(ctx, c)
}

// choose takes what the server wants, where there is only one way to it.
func (o *loginOptions) choose(server task.Login) error {
	switch server.By {
	case "oidc":
		o.device = true
	case "tokenreview":
		o.kubeconfig = server.Audience == ""
	case "token":
	default:
		return misused("usage: k8s-cli auth login USERNAME")
	}
	if o.proofs() == 0 {
		return misused("the server wants a token that an administrator gives you: k8s-cli auth login --token-stdin")
	}
	return nil
}

// proof gets what proves to the server who the user is.
func (e *env) proof(ctx context.Context, how loginOptions, server task.Login) (credential, error) {
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
	case how.device:
		session, err := e.deviceLogin(ctx, server)
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
		return credential{}, fmt.Errorf("the token is not one word of at most %d bytes", maxToken)
	}
	return credential{Token: token}, nil
}

// loginWith asks the server whose proof it is, and keeps it.
func (e *env) loginWith(ctx context.Context, c credential) error {
	if open(e.url()) {
		e.warn("%s is not encrypted: whoever is in between can take your token and be you; use https://", e.url())
	}
	who, err := e.connect(e.url(), "").WithToken(e.tokens(c)).Whoami(ctx)
	if err != nil {
		return err
	}
	if who.By == "header" {
		return errors.New("the server looks at no tokens, it believes names: k8s-cli auth login USERNAME")
	}
	c.User = who.User
	if err := e.saveCredential(&c); err != nil {
		return fmt.Errorf("save what proves who you are: %w", err)
	}
	show.Done(e.out, e.style, "Logged in as: "+who.User)
	return nil
}

// open reports whether what is sent to a server can be read on the way.
func open(address string) bool {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || u.Hostname() == "localhost" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return ip == nil || !ip.IsLoopback()
}
