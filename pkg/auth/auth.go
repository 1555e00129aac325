// Package auth tells who sends a request: by a header that a proxy sets, by a
// token of a file, by a token that Kubernetes knows, or by one of an OpenID
// Connect issuer.
package auth

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"k8s-cli/pkg/task"
)

// A Method tells who a caller is. The error is of kind task.ErrUnauthorized, or
// of kind task.ErrUnavailable if that cannot be told at present.
type Method interface {
	Identify(ctx context.Context, c task.Credentials) (Principal, error)
}

// A Principal is a user, and the groups that the user is in.
type Principal struct {
	User   string
	Groups []string

	// Unverified says that the name is an e-mail address of which nobody says that
	// it is this person's. It makes nobody an administrator.
	Unverified bool
}

// An Authenticator knows who asks, and who is an administrator. Any number of
// goroutines may use it at once.
type Authenticator struct {
	method Method
	admins task.Admins
	open   bool
}

// New returns an authenticator. Where a method that proves nothing is given no
// administrators, every user may ask for all users' tasks, as the specification
// has it.
func New(method Method, admins task.Admins) *Authenticator {
	_, byHeader := method.(Header)
	return &Authenticator{method: method, admins: admins, open: byHeader && len(admins) == 0}
}

// ByHeader reports whether it reads the header X-User.
func (a *Authenticator) ByHeader() bool {
	_, ok := a.method.(Header)
	return ok
}

// Identify returns who a caller is. The error is as a Method's.
func (a *Authenticator) Identify(ctx context.Context, c task.Credentials) (task.Identity, error) {
	p, err := a.method.Identify(ctx, c)
	if err != nil {
		return task.Identity{}, err
	}
	name := p.User
	if p.Unverified {
		name = ""
	}
	admin := len(a.admins) > 0 && a.admins.Has(name, p.Groups)
	return task.Identity{User: p.User, Groups: p.Groups, Admin: admin, CanListAllUsers: admin || a.open}, nil
}

const (
	lookupTimeout = 5 * time.Second // for who has to be asked about a token
	maxTokenBytes = 16 << 10        // bytes of a token
)

var errNoToken = task.Error(task.ErrUnauthorized, "Authorization: a token is required (Authorization: Bearer TOKEN); get one with 'k8s-cli auth login'")

// tokenForm is what a bearer token may be: RFC 6750, 2.1.
var tokenForm = regexp.MustCompile(`^[A-Za-z0-9._~+/-]+=*$`)

var errForm = errors.New("it is malformed")

// tokenOf returns the token of a caller, if it may be one.
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

// rejected says that a token is not taken, and why.
func rejected(why error) error {
	return task.Error(task.ErrUnauthorized, fmt.Sprintf("Authorization: the token was rejected: %v; log in again with 'k8s-cli auth login'", why))
}

// newPrincipal returns a user that somebody else vouches for, if its name can be one
// here.
func newPrincipal(user string, groups []string) (Principal, error) {
	name, err := task.UserName(user)
	if err != nil {
		return Principal{}, rejected(fmt.Errorf("the name of its user %w", err))
	}
	return Principal{User: name, Groups: groups}, nil
}

var errUnknown = errors.New("it is unknown or has expired")
