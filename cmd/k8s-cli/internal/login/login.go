package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
)

// Options say by what to log in; the zero Options, by the method of the server.
type Options struct {
	Name       string
	Named      bool // Name was given, which may be empty
	Token      string
	TokenStdin bool // the token is what stdin has
	Kubeconfig bool // the token is that of the current context
	Device     bool // at the issuer of the server, with a code
	NoBrowser  bool // the same, if it is at the issuer at all

	issuer bool // the server wants a login at its issuer
}

// credentialFlags returns how many proofs are to be shown.
func (o Options) credentialFlags() (n int) {
	for _, wanted := range []bool{o.Token != "", o.TokenStdin, o.Kubeconfig, o.Device} {
		if wanted {
			n++
		}
	}
	return n
}

const maxToken = 16 << 10 // bytes, as the server reads them

// LogIn logs in as the options say, or by the method of the server.
func (a *Account) LogIn(ctx context.Context, how Options) error {
	switch {
	case how.credentialFlags() > 1:
		return exit.Usagef("--token, --token-stdin, --from-kubeconfig and --device cannot be combined")
	case how.Named && how.credentialFlags() > 0:
		return exit.Usagef("USERNAME cannot be combined with a token; remove %q", how.Name)
	case how.Named:
		return a.logInByName(how.Name)
	}
	if err := a.checkConfidential(); err != nil {
		return err
	}
	var server task.Login
	var err error
	if how.credentialFlags() == 0 || how.Device {
		if server, err = a.Dial("").Login(ctx); err != nil && !errors.Is(err, task.ErrNotFound) {
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
func (a *Account) choose(how *Options, server task.Login) error {
	switch {
	case server.By == "oidc":
		how.issuer = true
		return nil
	case server.By == "tokenreview" && server.Audience != "":
		return exit.Usagef("the server requires a Kubernetes token for the audience %q: "+
			"kubectl create token SERVICEACCOUNT --audience AUDIENCE | k8s-cli auth login --token-stdin", server.Audience)
	case server.By == "tokenreview":
		how.Kubeconfig = true
		return a.offerKubeconfig()
	case server.By == "token":
		return exit.Usagef("the server requires a token from its administrator: k8s-cli auth login --token-stdin")
	}
	return exit.Usagef("usage: k8s-cli auth login USERNAME")
}

// offerKubeconfig asks whether the server may have the token of the current
// context, and returns an error unless the answer is yes.
func (a *Account) offerKubeconfig() error {
	if !a.Console.Interactive {
		return exit.Usagef("the server requires your Kubernetes token, with which it can act as you in the cluster: " +
			"pass --from-kubeconfig to send the token of the current context, or --token-stdin to send another one")
	}
	place, err := currentContext(a.Lookup)
	if err != nil {
		return err
	}
	cluster, err := place.cluster()
	if err != nil {
		return err
	}
	a.Console.Say("The server requests your Kubernetes token:")
	a.Console.Say("  Server:  %s", a.URL)
	a.Console.Say("  Context: %s", place.Context)
	a.Console.Say("  Cluster: %s", cluster)
	a.Console.Say("The operator of that server can use the token to act as you in that cluster.")
	yes, err := a.Console.Confirm("Send the token to "+a.URL+"?", "--from-kubeconfig")
	if err == nil && !yes {
		err = errors.New("no token was sent")
	}
	return err
}

// credentialFor returns the credential for the login method of the server.
func (a *Account) credentialFor(ctx context.Context, how Options, server task.Login) (credential, error) {
	switch {
	case how.TokenStdin:
		raw, err := io.ReadAll(io.LimitReader(a.Console.In, maxToken+1))
		if err != nil {
			return credential{}, fmt.Errorf("read the token: %w", err)
		}
		return tokenCredential(string(raw))
	case how.Kubeconfig:
		place, err := currentContext(a.Lookup)
		return credential{Kubeconfig: &place}, err
	case how.issuer, how.Device:
		session, err := a.logInAtIssuer(ctx, server, how.Device || how.NoBrowser)
		return credential{Session: &session}, err
	}
	return tokenCredential(how.Token)
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
func (a *Account) logInWith(ctx context.Context, c credential) error {
	if !client.IsConfidential(a.URL) {
		a.Console.Warn("%s is not encrypted: others on the network can read your token and act as you; use https://", a.URL)
	}
	who, err := a.Dial("").WithToken(a.tokens(c)).Whoami(ctx)
	if err != nil {
		return err
	}
	if who.By == "header" {
		return errors.New("the server does not use tokens; run k8s-cli auth login USERNAME")
	}
	c.User = who.User
	if err := a.Settings.saveCredential(a.URL, &c); err != nil {
		return fmt.Errorf("save the credentials: %w", err)
	}
	a.Console.Done("Logged in as: " + who.User)
	return nil
}

// logInByName sets the user by name alone.
func (a *Account) logInByName(name string) error {
	name = strings.TrimSpace(name)
	if err := checkUser(name); err != nil {
		return err
	}
	err := a.Settings.saveUser(name)
	if err == nil {
		err = a.LogOut()
	}
	if err != nil {
		return fmt.Errorf("Failed to save user: %w", err) //nolint:staticcheck // the original's words
	}
	a.Console.Done("Logged in as: " + name)
	return nil
}
