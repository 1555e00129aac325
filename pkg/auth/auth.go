// Package auth identifies the user who sends a request. The user comes from a header that a
// proxy sets, from a bearer token in a file, from a bearer token that Kubernetes reviews,
// or from an ID token of an OpenID Connect issuer.
package auth

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// A Method identifies the sender of a request. The error is of kind
// problem.Unauthorized, or, if the method cannot check the request at present, of kind
// problem.LimitReached or problem.Unavailable.
type Method interface {
	Identify(ctx context.Context, c task.Credentials) (Principal, error)
}

// A Principal is a user and the groups of the user.
type Principal struct {
	User   string
	Groups []string

	// Unverified says that the user name is an e-mail address, and that the token has no
	// claim about the verification of the address. An unverified user is never an
	// administrator.
	Unverified bool
}

// An Authenticator identifies the sender of a request and decides whether the sender is an
// administrator. An Authenticator is safe for concurrent use.
type Authenticator struct {
	method Method
	admins task.Admins
	open   bool
}

// New returns an authenticator. If method is a UserHeader, which proves nothing, and admins is
// empty, every user may list the tasks of all users, as the specification requires.
func New(method Method, admins task.Admins) *Authenticator {
	_, byHeader := method.(UserHeader)
	return &Authenticator{method: method, admins: admins, open: byHeader && len(admins) == 0}
}

// ReadsUserHeader reports whether the authenticator reads the header X-User.
func (a *Authenticator) ReadsUserHeader() bool {
	_, ok := a.method.(UserHeader)
	return ok
}

// OIDC returns the method of a, if it is an OpenID Connect issuer, or else nil.
func (a *Authenticator) OIDC() *OIDC {
	o, _ := a.method.(*OIDC)
	return o
}

// Identify returns the identity of the sender of a request. The error has the kinds that
// Method documents.
func (a *Authenticator) Identify(ctx context.Context, c task.Credentials) (task.Identity, error) {
	p, err := a.method.Identify(ctx, c)
	if err != nil {
		return task.Identity{}, err
	}
	return a.Identity(p), nil
}

// Identity returns the identity of a principal whom the method of a identified.
func (a *Authenticator) Identity(p Principal) task.Identity {
	name := p.User
	if p.Unverified {
		name = ""
	}
	admin := len(a.admins) > 0 && a.admins.Has(name, p.Groups)
	return task.Identity{User: p.User, Groups: p.Groups, Admin: admin, CanListAllUsers: admin || a.open}
}

// AdminGroups returns those groups that make a user an administrator.
func (a *Authenticator) AdminGroups(groups []string) (some []string) {
	for _, group := range groups {
		if a.admins.Has("", []string{group}) {
			some = append(some, group)
		}
	}
	return some
}

const maxTokenBytes = 16 << 10

// lookupTimeout is the longest wait for the API server or the issuer to check a token. Tests
// wait longer.
var lookupTimeout = 5 * time.Second

var errNoToken = problem.New(problem.CredentialsMissing, "Authorization: a token is required (Authorization: Bearer TOKEN); get one with 'k8s-cli auth login'")

// tokenForm is the syntax of a bearer token: RFC 6750, section 2.1.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

var errForm = errors.New("it is malformed")

// tokenOf returns the token of a request, if the token is well-formed.
func tokenOf(c task.Credentials) (string, error) {
	switch {
	case c.Token == "":
		return "", errNoToken
	case len(c.Token) > maxTokenBytes:
		return "", rejected(fmt.Errorf("it has %d bytes, more than the limit of %d", len(c.Token), maxTokenBytes))
	case !tokenForm.MatchString(c.Token):
		return "", rejected(errForm)
	}
	return c.Token, nil
}

// rejected returns the error of a rejected token, with the reason.
func rejected(why error) error {
	return problem.New(problem.Unauthorized, fmt.Sprintf("Authorization: the token was rejected: %v; log in again with 'k8s-cli auth login'", why))
}

// newPrincipal returns a principal for a user whom Kubernetes or an issuer vouches for.
// newPrincipal rejects a user name that this server does not allow.
func newPrincipal(user string, groups []string) (Principal, error) {
	name, err := task.UserName(user)
	if err != nil {
		return Principal{}, rejected(fmt.Errorf("the name of its user %w", err))
	}
	return Principal{User: name, Groups: groups}, nil
}

var errUnknown = errors.New("it is unknown or has expired")
