package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/account"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Options select the login method. The zero Options select the method of the server.
type Options struct {
	Name       string
	Named      bool // Name was given; Name may be empty
	Token      string
	TokenStdin bool // read the token from stdin
	Kubeconfig bool // use the token of the current kubeconfig context
	Device     bool // log in at the issuer with the device flow
	NoBrowser  bool // use the device flow if the login is at the issuer

	Issuer string // that the user expects; if it is empty, the user confirms a new issuer

	issuer bool // the server requires a login at its issuer
}

// credentialFlags returns how many flags select a credential.
func (o Options) credentialFlags() (n int) {
	for _, wanted := range []bool{o.Token != "", o.TokenStdin, o.Kubeconfig, o.Device} {
		if wanted {
			n++
		}
	}
	return n
}

const maxToken = 16 << 10 // bytes; the server has the same limit

// LogIn logs in with the method that the options select, or with the method of the
// server.
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
		if server, err = a.Dial("").Login(ctx); err != nil && !errors.Is(err, problem.NotFound) {
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

// choose selects the login method of the server. It returns a usage error if the user has
// to choose.
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

// offerKubeconfig asks the user whether to send the token of the current kubeconfig
// context to the server. It returns an error unless the answer is yes.
func (a *Account) offerKubeconfig() error {
	if !a.Console.Interactive {
		return exit.Usagef("the server requires your Kubernetes token, with which it can act as you in the cluster: " +
			"pass --from-kubeconfig to send the token of the current context, or --token-stdin to send another one")
	}
	place, err := account.CurrentContext(a.Environment)
	if err != nil {
		return err
	}
	cluster, err := place.Cluster()
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
func (a *Account) credentialFor(ctx context.Context, how Options, server task.Login) (account.Credential, error) {
	switch {
	case how.TokenStdin:
		raw, err := io.ReadAll(io.LimitReader(a.Console.In, maxToken+1))
		if err != nil {
			return account.Credential{}, fmt.Errorf("read the token: %w", err)
		}
		return tokenCredential(string(raw))
	case how.Kubeconfig:
		place, err := account.CurrentContext(a.Environment)
		return account.Credential{Kubeconfig: &place}, err
	case how.issuer, how.Device:
		session, err := a.logInAtIssuer(ctx, server, how.Issuer, how.Device || how.NoBrowser)
		return account.Credential{Session: &session}, err
	}
	return tokenCredential(how.Token)
}

func tokenCredential(token string) (account.Credential, error) {
	token = strings.TrimSpace(token)
	switch {
	case token == "":
		return account.Credential{}, errors.New("the token is empty")
	case len(token) > maxToken || strings.ContainsAny(token, " \t\r\n"):
		return account.Credential{}, fmt.Errorf("the token must be one word of at most %d bytes", maxToken)
	}
	return account.Credential{Token: token}, nil
}

// logInWith asks the server for the user of the credential, and stores the credential.
func (a *Account) logInWith(ctx context.Context, c account.Credential) error {
	if !client.IsConfidential(a.URL) {
		a.Console.Warn("%s is not encrypted: others on the network can read your token and act as you; use https://", a.URL)
	}
	who, err := a.Dial("").WithToken(a.Settings.Tokens(a.URL, c, a.Console.ErrOut)).Whoami(ctx)
	if err != nil {
		return err
	}
	if who.By == "header" {
		return errors.New("the server does not use tokens; run k8s-cli auth login USERNAME")
	}
	c.User = who.User
	if err := a.Settings.SaveCredential(a.URL, &c); err != nil {
		return fmt.Errorf("save the credentials: %w", err)
	}
	a.Console.Done("Logged in as: " + who.User)
	return nil
}

// logInByName stores the name of the user and deletes the stored credential.
func (a *Account) logInByName(name string) error {
	name = strings.TrimSpace(name)
	if err := account.CheckUser(name); err != nil {
		return err
	}
	err := a.Settings.SaveUser(name)
	if err == nil {
		err = a.Settings.SaveCredential(a.URL, nil)
	}
	if err != nil {
		return fmt.Errorf("Failed to save user: %w", err) //nolint:staticcheck // the original's words
	}
	a.Console.Done("Logged in as: " + name)
	return nil
}
