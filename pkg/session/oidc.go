package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/task"
)

// LoginTime is how long a login at the issuer may take.
const LoginTime = 10 * time.Minute

// A pendingLogin is what the cookie of a login at the issuer says.
type pendingLogin struct {
	auth.CodeFlow

	Next    string    `json:"p"`
	Expires time.Time `json:"e"`
}

const loginPurpose = "login at the issuer"

var errLogin = task.Error(task.ErrUnauthorized, "the login took too long, or began in another browser; log in again")

// StartOIDC begins a login at the issuer. It returns the URL to which the browser goes, and a
// cookie with which the browser comes back to redirect. next is the page after the login.
func (m *Manager) StartOIDC(ctx context.Context, redirect, next string) (address, cookie string, err error) {
	if m.OIDC == nil {
		return "", "", errMethod
	}
	l := pendingLogin{
		CodeFlow: auth.CodeFlow{Redirect: redirect, State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()},
		Next:     page(next), Expires: time.Now().Add(LoginTime),
	}
	if address, err = m.OIDC.AuthCodeURL(ctx, l.CodeFlow); err != nil {
		return "", "", err
	}
	raw, err := json.Marshal(l)
	return address, m.Box.SealCookie(loginPurpose, raw), err
}

// FinishOIDC returns the session of a browser that comes back from the issuer, its cookie, and
// the page after the login.
func (m *Manager) FinishOIDC(ctx context.Context, cookie, state, code string) (s Session, value, next string, err error) {
	var l pendingLogin
	raw, err := m.Box.OpenCookie(loginPurpose, cookie)
	if m.OIDC == nil || err != nil || json.Unmarshal(raw, &l) != nil || !time.Now().Before(l.Expires) ||
		subtle.ConstantTimeCompare([]byte(l.State), []byte(state)) != 1 {
		return s, "", "", errLogin
	}
	p, expires, err := m.OIDC.Exchange(ctx, l.CodeFlow, code)
	if err != nil {
		return s, "", "", err
	}
	s, value, err = m.beginOIDC(p, expires)
	return s, value, l.Next, err
}

const pages = "/ui/"

// page returns the path of a page of the dashboard; another address becomes the first page.
func page(next string) string {
	if !strings.HasPrefix(next, pages) || strings.ContainsAny(next, "\\\"'<>") || strings.Contains(next, "//") || len(next) > 500 ||
		strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return pages
	}
	return next
}
