package login

import (
	"context"
	"errors"
	"fmt"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"k8s-cli/pkg/client/account"
	"k8s-cli/pkg/task"
)

// An issuer logs the user in at an OpenID Connect issuer.
type issuer struct{ account.Issuer }

// logInAtIssuer logs the user in at the issuer that the server names. It uses the browser
// of this machine or, with byCode, a code that the user enters in any browser. expected is the issuer
// that the user expects, if not empty; otherwise the user confirms an issuer that is new for this
// server, because the server gets an ID token of the user.
func (a *Account) logInAtIssuer(ctx context.Context, server task.Login, expected string, byCode bool) (account.Session, error) {
	if server.By != "oidc" {
		return account.Session{}, errors.New("the server has no OpenID Connect issuer; it does not run with --auth oidc")
	}
	a.Console.Say("The server uses an OpenID Connect issuer:")
	a.Console.Say("  Server:    %s", a.URL)
	a.Console.Say("  Issuer:    %s", server.Issuer)
	a.Console.Say("  Client ID: %s", server.ClientID)
	a.Console.Say("The server receives your name, email address and groups from the issuer.")
	a.Console.Say("Log in only if you recognize the server, the issuer and the client ID.")
	if err := a.confirmIssuer(server, expected); err != nil {
		return account.Session{}, err
	}
	found, err := account.Discover(ctx, server.Issuer, server.ClientID)
	i := issuer{found}
	switch {
	case err != nil:
		return account.Session{}, err
	case !byCode && a.Console.Interactive && i.Browser && a.Browse != nil:
		return i.logInWithBrowser(ctx, a.Console, a.Browse)
	case i.Config.Endpoint.DeviceAuthURL != "":
		return i.logInWithCode(ctx, a.Console)
	case i.Browser:
		return account.Session{}, fmt.Errorf("the issuer %s has no device flow, and this machine has no browser or terminal; "+
			"log in on a machine with a browser, or get an ID token for the client %s and pass it with --token-stdin", i.URL, server.ClientID)
	}
	return account.Session{}, fmt.Errorf("the issuer %s supports neither the device flow nor a login in the browser; get an ID token for the client %s and pass it with --token-stdin",
		i.URL, server.ClientID)
}

// confirmIssuer returns an error unless the user expects the issuer, has logged in with it at this
// server, or confirms it.
func (a *Account) confirmIssuer(server task.Login, expected string) error {
	c, err := a.Settings.Credential(a.URL)
	known := err == nil && c != nil && c.Session != nil && c.Session.Issuer == server.Issuer && c.Session.ClientID == server.ClientID
	switch {
	case expected != "" && expected != server.Issuer:
		return fmt.Errorf("--issuer: the server uses the issuer %s", server.Issuer)
	case expected != "" || known:
		return nil
	}
	yes, err := a.Console.Confirm("Log in at this issuer?", "--issuer URL")
	if err == nil && !yes {
		err = errors.New("no login was started")
	}
	return err
}

// session returns the session for a new token. The ID token must be signed by the issuer,
// for the client, and have the nonce of this login if the nonce is not empty. The server
// checks the expiry of the ID token.
func (i issuer) session(ctx context.Context, got *oauth2.Token, nonce string) (account.Session, error) {
	s, err := account.Session{Issuer: i.URL, ClientID: i.Config.ClientID}.With(got)
	if err != nil {
		return s, err
	}
	verifier := i.Provider.VerifierContext(account.IssuerContext(ctx), &oidc.Config{ClientID: s.ClientID, SkipExpiryCheck: true})
	token, err := verifier.Verify(ctx, s.IDToken)
	if err != nil {
		return s, i.Failed("check the ID token", err)
	}
	if nonce != "" && token.Nonce != nonce {
		return s, fmt.Errorf("the issuer %s returned an ID token of another login (wrong nonce); log in again", i.URL)
	}
	return s, nil
}
