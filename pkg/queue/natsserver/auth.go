package natsserver

import (
	"context"
	"encoding/base64"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task"
)

const (
	authTimeout  = 6 * time.Second // for a subscriber to send its token, and for the authenticator to verify it
	authLifetime = time.Hour       // then NATS closes the connection, and the subscriber must authenticate again
)

// An authCallout authenticates the clients of the embedded server: this process by its key,
// and subscribers by their tokens.
type authCallout struct {
	ownKey string // public key of this process's connections
	tokens Authenticator
	server *server.Server
}

// setAuthCallout makes the server authenticate subscribers, if an Authenticator is configured.
func (n *Server) setAuthCallout(o *server.Options) *authCallout {
	g := &authCallout{ownKey: n.own.public, tokens: n.config.Subscribers}
	if g.tokens == nil {
		return g
	}
	o.Nkeys, o.NoAuthUser = nil, ""
	o.AlwaysEnableNonce, o.AuthTimeout = true, authTimeout.Seconds()
	o.CustomClientAuthentication = g
	return g
}

// Check implements server.Authentication. NATS calls Check for every connection.
func (a *authCallout) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	if given.Nkey != "" {
		if given.Nkey != a.ownKey || !signed(given.Nkey, given.Sig, c.GetNonce()) {
			return false
		}
		c.RegisterUser(&server.User{Username: natsconn.ClientName, Account: a.server.GlobalAccount()})
		return true
	}
	token := given.Token
	if token == "" {
		token = given.Password
	}
	ctx, cancel := context.WithTimeout(context.Background(), authTimeout)
	defer cancel()
	who, err := a.tokens.Identify(ctx, token)
	if err != nil {
		return false
	}
	account, err := a.server.LookupAccount(subscriberAccount)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{
		Username: who.User, Account: account, Permissions: userPermissions(who), ConnectionDeadline: time.Now().Add(authLifetime),
	})
	return true
}

// signed reports whether the client of a connection holds the private half of a key.
func signed(public, signature string, nonce []byte) bool {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify(nonce, raw) == nil
}

// userPermissions returns the permissions of a subscriber. Administrators receive all events
// and may read stored events; other users receive only their own events. Other users may send
// no request, because the sender of a request chooses the subject of the reply, which could be
// the subject of another user's events.
func userPermissions(who task.Identity) *server.Permissions {
	if who.Admin {
		return subscriberPermissions()
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{">"}},
		Subscribe: &server.SubjectPermission{Allow: []string{subject.EventsOf(who.User)}},
	}
}
