// Package session makes the sessions of browsers. A session is an encrypted cookie: the server
// stores nothing about it, until the user ends the session. The log then says so, and all pods
// reject the session.
package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/netip"
	"time"

	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	// Lifetime is the longest lifetime of a session.
	Lifetime = 12 * time.Hour
	// IssuerGrace is how long a session outlives the ID token of the login at most.
	IssuerGrace = time.Hour

	// clockSkew is the largest difference between the clocks of two pods. Pods remember the end
	// of a session longer than the session by this time.
	clockSkew = 10 * time.Minute

	// maxCookie is the size of the largest cookie that browsers store, with its name and
	// attributes, less a margin for these.
	maxCookie = 3800
)

// A Session is what the cookie of a browser says.
type Session struct {
	ID      string    `json:"i"` // random
	User    string    `json:"u"`
	Expires time.Time `json:"e"`
	Log     string    `json:"l"` // log in which the end of the session would be
	Began   uint64    `json:"b"` // position in the log at the login

	// KeyHash is the hash of a key that each request must have besides the cookie; empty over HTTPS.
	KeyHash string `json:"k,omitempty"`

	// Token is the token of the login, which the server checks again for each request. A
	// session of an OpenID Connect issuer has the groups of the ID token instead.
	Token      string   `json:"t,omitempty"`
	Groups     []string `json:"g,omitempty"`
	Unverified bool     `json:"v,omitempty"` // see auth.Principal
}

// A Log appends the end of a session. After Append returns, this pod has folded the command.
type Log interface {
	Append(ctx context.Context, c task.Command) (task.Result, error)
}

// Config holds the parts of a Manager.
type Config struct {
	Login task.Login          // authentication method of the server
	Auth  *auth.Authenticator // of the same method
	OIDC  *auth.OIDC          // the method, if it is an issuer; nil otherwise
	Names bool                // the method trusts the name that a client gives

	Box   *seal.Sealer // of the cookies; all pods share its key
	Log   Log
	Store *cache.Store
}

// A Manager begins, checks and ends sessions. A Manager is safe for concurrent use.
type Manager struct {
	Config
	purpose      string // binds the cookies of sessions to the authentication method
	loginPurpose string // the same for the cookies of logins at the issuer
	streams      streams
	finished     finishedLogins
}

// New returns a Manager.
func New(c Config) *Manager {
	return &Manager{Config: c, purpose: purpose("session", c), loginPurpose: purpose("login", c)}
}

func purpose(what string, c Config) string {
	text, _ := json.Marshal([]any{what, c.Login, c.Names, c.OIDC.Meaning()}) // strings and booleans always encode
	return string(text)
}

// Methods returns the ways in which a browser can log in: name, token and oidc.
func (m *Manager) Methods() []string {
	switch {
	case m.OIDC != nil:
		return []string{"oidc", "token"}
	case m.Names:
		return []string{"name"}
	case m.Login.By == "token", m.Login.By == "tokenreview":
		return []string{"token"}
	}
	return []string{} // a proxy authenticates the users
}

// Credentials are the body of a login.
type Credentials struct {
	User  string `json:"user"`
	Token string `json:"token"`

	KeyHash string `json:"-"` // see Session
}

var (
	errMethod = problem.New(problem.Forbidden, "this server does not offer this kind of login; GET /session names the kinds")
	errEnded  = problem.New(problem.Unauthorized, "the session has ended; log in again")
	errLarge  = problem.New(problem.Invalid, "the token is too large for a session in a browser; use a token of at most 2,000 bytes")
	errEarly  = problem.New(problem.Unavailable, "the server is starting; try again")
	errFull   = problem.New(problem.LimitReached, "too many sessions ended recently; try again later")
)

// Begin returns a new session of the user with these credentials, and its cookie.
func (m *Manager) Begin(ctx context.Context, c Credentials, peer netip.Addr) (Session, string, error) {
	switch {
	case c.Token != "" && m.OIDC != nil:
		p, expires, err := m.OIDC.Check(ctx, peer, c.Token, "")
		if err != nil {
			return Session{}, "", err
		}
		return m.beginOIDC(p, expires, c.KeyHash)
	case c.Token != "" && !m.Names && len(m.Methods()) > 0:
		return m.begin(ctx, Session{Token: c.Token, KeyHash: c.KeyHash}, peer)
	case c.Token == "" && m.Names:
		user, err := task.UserName(c.User)
		if err != nil {
			return Session{}, "", problem.New(problem.Unauthorized, "user: the name "+err.Error())
		}
		return m.begin(ctx, Session{User: user, KeyHash: c.KeyHash}, peer)
	}
	return Session{}, "", errMethod
}

// begin lets the authentication method identify the user, and returns the session.
func (m *Manager) begin(ctx context.Context, s Session, peer netip.Addr) (Session, string, error) {
	who, err := m.Auth.Identify(ctx, task.Credentials{Peer: peer, User: s.User, Token: s.Token})
	if err != nil {
		return Session{}, "", err
	}
	s.User, s.Expires = who.User, time.Now().Add(Lifetime)
	return m.seal(s)
}

func (m *Manager) beginOIDC(p auth.Principal, expires time.Time, keyHash string) (Session, string, error) {
	s := Session{User: p.User, Groups: p.Groups, Unverified: p.Unverified, Expires: time.Now().Add(Lifetime), KeyHash: keyHash}
	if latest := expires.Add(IssuerGrace); latest.Before(s.Expires) {
		s.Expires = latest
	}
	sealed, cookie, err := m.seal(s)
	if errors.Is(err, errLarge) { // fewer groups mean fewer rights
		s.Groups = m.Auth.AdminGroups(s.Groups)
		return m.seal(s)
	}
	return sealed, cookie, err
}

// seal gives a session its id and returns its cookie.
func (m *Manager) seal(s Session) (Session, string, error) {
	s.ID, s.Expires = rand.Text(), s.Expires.UTC().Truncate(time.Second)
	if s.Log, s.Began, _ = m.Store.Session("", "", 0); s.Log == "" {
		return Session{}, "", errEarly
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return Session{}, "", err
	}
	cookie := m.Box.SealCookie(m.purpose, raw)
	if len(cookie) > maxCookie {
		return Session{}, "", errLarge
	}
	return s, cookie, nil
}

// Identify returns the session of a cookie, and the identity of its user. The error is of kind
// problem.Unauthorized if the cookie is not the cookie of a valid session.
func (m *Manager) Identify(ctx context.Context, cookie string, peer netip.Addr) (Session, task.Identity, error) {
	var s Session
	raw, err := m.Box.OpenCookie(m.purpose, cookie)
	if err != nil || json.Unmarshal(raw, &s) != nil || !time.Now().Before(s.Expires) {
		return Session{}, task.Identity{}, errEnded
	}
	if err := m.check(s); err != nil {
		return Session{}, task.Identity{}, err
	}
	var who task.Identity
	if m.OIDC != nil {
		who = m.Auth.Identity(auth.Principal{User: s.User, Groups: s.Groups, Unverified: s.Unverified})
	} else if who, err = m.Auth.Identify(ctx, task.Credentials{Peer: peer, User: s.User, Token: s.Token}); err != nil {
		return Session{}, task.Identity{}, err
	}
	if who.User != s.User { // the token has another user now
		return Session{}, task.Identity{}, errEnded
	}
	return s, who, nil
}

// check returns an error if the user has ended a session, or if its end may have been lost with
// an earlier log.
func (m *Manager) check(s Session) error {
	switch log, _, ended := m.Store.Session(s.User, s.ID, s.Began); {
	case log == "":
		return errEarly
	case ended || log != s.Log:
		return errEnded
	}
	return nil
}

// End ends a session on all pods, or all sessions of its user. When End returns, this pod rejects
// the sessions.
func (m *Manager) End(ctx context.Context, s Session, all bool) error {
	c := &task.EndSessions{User: s.User, ID: s.ID, Until: s.Expires.Add(clockSkew)}
	if all {
		c.ID, c.Until = "", time.Now().UTC().Add(Lifetime+clockSkew)
	}
	result, err := m.Log.Append(ctx, task.Command{EndSessions: c})
	if err == nil && result.Rejection != "" {
		err = cmp.Or(map[task.Rejection]error{task.RejectedTooMany: errFull}[result.Rejection], errEarly)
	}
	return err
}
