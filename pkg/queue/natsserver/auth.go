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
	authTimeout  = 6 * time.Second // for a subscriber to say who it is, and for that to be looked at
	authLifetime = time.Hour       // after which a subscriber has to say so again, by connecting anew
)

// An authCallout knows those who connect to the embedded server: this process by its
// key, and subscribers by their tokens.
type authCallout struct {
	ownKey string // public key of this process's connections
	tokens Authenticator
	server *server.Server
}

// setAuthCallout has subscribers say who they are, if somebody can tell.
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

// Check is called by the server for every connection.
func (g *authCallout) Check(c server.ClientAuthentication) bool {
	given := c.GetOpts()
	if given.Nkey != "" {
		if given.Nkey != g.ownKey || !signed(given.Nkey, given.Sig, c.GetNonce()) {
			return false
		}
		c.RegisterUser(&server.User{Username: natsconn.ClientName, Account: g.server.GlobalAccount()})
		return true
	}
	token := given.Token
	if token == "" {
		token = given.Password
	}
	ctx, cancel := context.WithTimeout(context.Background(), authTimeout)
	defer cancel()
	who, err := g.tokens.Identify(ctx, token)
	if err != nil {
		return false
	}
	account, err := g.server.LookupAccount(subscriberAccount)
	if err != nil {
		return false
	}
	c.RegisterUser(&server.User{
		Username: who.User, Account: account, Permissions: userPermissions(who), ConnectionDeadline: time.Now().Add(authLifetime),
	})
	return true
}

// signed reports whether a connection has the private half of a key.
func signed(public, signature string, nonce []byte) bool {
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		return false
	}
	key, err := nkeys.FromPublicKey(public)
	return err == nil && key.Verify(nonce, raw) == nil
}

// userPermissions says what a subscriber may do: administrators hear everything and read
// what is stored, others hear what is their own. These ask for nothing: whoever
// asks says at which subject the answer arrives, and that could be one of
// another user's events.
func userPermissions(who task.Identity) *server.Permissions {
	if who.Admin {
		return subscriberPermissions()
	}
	return &server.Permissions{
		Publish:   &server.SubjectPermission{Deny: []string{">"}},
		Subscribe: &server.SubjectPermission{Allow: []string{subject.EventsOf(who.User)}},
	}
}
