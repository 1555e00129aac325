package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"maps"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/task/problem"
)

// LoginTime is how long a login at the issuer may take.
const LoginTime = 10 * time.Minute

// A pendingLogin is what the cookie of a login at the issuer says.
type pendingLogin struct {
	auth.CodeFlow

	Next    string    `json:"p"`
	Expires time.Time `json:"e"`
}

var errLogin = problem.New(problem.Unauthorized, "the login took too long, or began in another browser; log in again")

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
	return address, m.Box.SealCookie(m.loginPurpose, raw), err
}

// maxText is the largest text in a cookie, in bytes.
const maxText = 1000

// SealText returns a cookie that contains a text of the server.
func (m *Manager) SealText(text string) string {
	return m.Box.SealCookie("text", []byte(text[:min(len(text), maxText)]))
}

// OpenText returns the text in a cookie of SealText, "" if the cookie is not one.
func (m *Manager) OpenText(cookie string) string {
	text, err := m.Box.OpenCookie("text", cookie)
	if err != nil {
		return ""
	}
	return strings.ToValidUTF8(string(text), "")
}

// A Callback is what the issuer tells the server by the browser at the end of a login.
type Callback struct {
	State string
	Code  string

	// Error and Description are set in place of Code if the issuer rejected the login.
	Error       string
	Description string

	KeyHash string // see Session
}

// FinishOIDC returns the session of a browser that comes back from the issuer, its cookie, and
// the page after the login.
func (m *Manager) FinishOIDC(ctx context.Context, cookie string, c Callback, peer netip.Addr) (s Session, value, next string, err error) {
	l, ok := m.login(cookie, c.State)
	if m.OIDC == nil || !ok {
		return s, "", "", errLogin
	}
	if c.Error != "" {
		return s, "", "", m.OIDC.Refused(c.Error, c.Description)
	}
	if !m.finished.first(l.State, l.Expires) { // otherwise one cookie could use up the limit of exchanges
		return s, "", "", errLogin
	}
	p, expires, err := m.OIDC.Exchange(ctx, peer, l.CodeFlow, c.Code)
	if err != nil {
		return s, "", "", err
	}
	s, value, err = m.beginOIDC(p, expires, c.KeyHash)
	return s, value, l.Next, err
}

// IsLogin reports whether a cookie is that of the login with a state.
func (m *Manager) IsLogin(cookie, state string) bool {
	_, ok := m.login(cookie, state)
	return ok
}

func (m *Manager) login(cookie, state string) (l pendingLogin, ok bool) {
	raw, err := m.Box.OpenCookie(m.loginPurpose, cookie)
	ok = err == nil && json.Unmarshal(raw, &l) == nil && time.Now().Before(l.Expires) &&
		subtle.ConstantTimeCompare([]byte(l.State), []byte(state)) == 1
	return l, ok
}

// finishedLogins holds the states of the logins that this pod has exchanged and that have not expired.
type finishedLogins struct {
	mu  sync.Mutex
	all map[string]time.Time // when the login expires, by state
}

const maxFinished = 100_000

// first records the exchange of a login, and reports whether it is the first one.
func (f *finishedLogins) first(state string, expires time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) >= maxFinished {
		maps.DeleteFunc(f.all, func(_ string, at time.Time) bool { return time.Now().After(at) })
	}
	if _, again := f.all[state]; again || len(f.all) >= maxFinished {
		return false
	}
	if f.all == nil {
		f.all = map[string]time.Time{}
	}
	f.all[state] = expires
	return true
}

const pages = "/ui/"

// page returns the path of a page of the dashboard; another address becomes the first page.
func page(next string) string {
	const unsafe = "\\\"'<>"
	if len(next) > 500 || strings.ContainsAny(next, unsafe) || strings.ContainsFunc(next, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return pages
	}
	u, err := url.Parse(next)
	// A browser takes a step back for "..", also if the dots are encoded.
	if err != nil || !strings.HasPrefix(next, pages) || path.Clean(u.Path) != strings.TrimSuffix(u.Path, "/") {
		return pages
	}
	return next
}
