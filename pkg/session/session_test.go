package session

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// newStore returns a store that has folded the first entry of a log.
func newStore() *cache.Store {
	s := cache.New()
	_, _ = s.Fold(task.Entry{Version: task.EntryVersion, Log: "log", Seq: 1, Time: time.Now()})
	return s
}

// A log appends to some pods.
type log struct {
	number uint64
	pods   []Follower
}

func (l *log) Append(_ context.Context, c task.Command) (r task.Result, err error) {
	raw, err := c.Encode()
	if err != nil {
		return r, err
	}
	l.number++
	e := task.Entry{Version: task.EntryVersion, Log: "log", Writer: "w", Number: l.number, Seq: l.number + 1, Time: time.Now(), Commands: []json.RawMessage{raw}}
	for _, p := range l.pods {
		results, err := p.Fold(e)
		if err != nil {
			return r, err
		}
		r = results[0]
	}
	return r, nil
}

func box(t *testing.T, key string) *seal.Sealer {
	t.Helper()
	b, err := seal.New([]byte(strings.Repeat(key, seal.MinKeyBytes)))
	must.Succeed(t, err)
	return b
}

// twoPods returns the managers of two pods of one server.
func twoPods(t *testing.T, change func(*Config)) (one, other *Manager) {
	t.Helper()
	l := &log{}
	var all []*Manager
	for range 2 {
		p := newStore()
		c := Config{Login: task.Login{By: "header"}, Auth: auth.New(auth.UserHeader{}, task.Admins{"root"}), Names: true, Box: box(t, "k"), Log: l, Store: p}
		if change != nil {
			change(&c)
		}
		m := New(c)
		l.pods = append(l.pods, Follower{p, m})
		all = append(all, m)
	}
	return all[0], all[1]
}

func begin(t *testing.T, m *Manager, c Credentials) (Session, string) {
	t.Helper()
	s, cookie, err := m.Begin(t.Context(), c, netip.Addr{})
	must.Succeed(t, err)
	return s, cookie
}

func wantEnded(t *testing.T, what string, m *Manager, cookie string) {
	t.Helper()
	if _, who, err := m.Identify(t.Context(), cookie, netip.Addr{}); !errors.Is(err, problem.Unauthorized) || who.User != "" {
		t.Errorf("%s: accepted as %q: %v", what, who.User, err)
	}
}

func wantUser(t *testing.T, m *Manager, cookie, user string) task.Identity {
	t.Helper()
	_, who, err := m.Identify(t.Context(), cookie, netip.Addr{})
	if err != nil || who.User != user {
		t.Fatalf("%q, %v, want %s", who.User, err, user)
	}
	return who
}

func TestSessionEndsOnAllPods(t *testing.T) {
	one, other := twoPods(t, nil)
	s, cookie := begin(t, one, Credentials{User: " ann "})
	_, second := begin(t, one, Credentials{User: "ann"})
	if who := wantUser(t, other, cookie, "ann"); who.Admin {
		t.Error("ann became an administrator")
	}
	_, roots := begin(t, one, Credentials{User: "root"})
	if who := wantUser(t, other, roots, "root"); !who.Admin {
		t.Error("root is not an administrator")
	}
	open, closed := other.Stream(t.Context(), s)
	defer closed()
	must.Succeed(t, one.End(t.Context(), s, false))
	wantEnded(t, "an ended session", one, cookie)
	wantEnded(t, "an ended session on another pod", other, cookie)
	wantUser(t, other, second, "ann")
	if open.Err() == nil {
		t.Error("an open stream of an ended session goes on")
	}
	if late, closed := other.Stream(t.Context(), s); late.Err() == nil {
		closed()
		t.Error("a stream began after the end of its session")
	}
	must.Succeed(t, other.End(t.Context(), s, true))
	wantEnded(t, "all sessions of a user", one, second)
	wantUser(t, one, roots, "root")
	_, third := begin(t, other, Credentials{User: "ann"})
	wantUser(t, one, third, "ann")
}

// The end of a session outlives the session, so that it also counts on a pod whose clock is late.
func TestEndsOutliveTheirSessions(t *testing.T) {
	one, _ := twoPods(t, nil)
	s, _ := begin(t, one, Credentials{User: "ann"})
	var told []task.EndSessions
	one.Log = appender(func(c task.Command) { told = append(told, *c.EndSessions) })
	for _, all := range []bool{false, true} {
		must.Succeed(t, one.End(t.Context(), s, all))
	}
	for _, c := range told {
		if c.User != "ann" || c.Until.Sub(s.Expires) < clockSkew-time.Second {
			t.Errorf("a session until %s ends by %+v", s.Expires, c)
		}
	}
	if len(told) != 2 || told[0].ID != s.ID || told[1].ID != "" {
		t.Errorf("told %+v", told)
	}
}

type appender func(task.Command)

func (a appender) Append(_ context.Context, c task.Command) (r task.Result, err error) {
	a(c)
	return r, nil
}

func TestWrongCookies(t *testing.T) {
	one, _ := twoPods(t, nil)
	s, cookie := begin(t, one, Credentials{User: "ann"})
	raw, err := base64.RawURLEncoding.DecodeString(cookie)
	must.Succeed(t, err)
	for i := range raw {
		changed := append([]byte(nil), raw...)
		changed[i] ^= 1
		wantEnded(t, fmt.Sprintf("byte %d changed", i), one, base64.RawURLEncoding.EncodeToString(changed))
	}
	for _, wrong := range []string{"", "x", cookie + "A", cookie + "=", cookie[1:], cookie[:len(cookie)-4], cookie + cookie, strings.Repeat("A", 1<<20), "\x00"} {
		wantEnded(t, fmt.Sprintf("%.20q", wrong), one, wrong)
	}
	for name, change := range map[string]func(*Config){
		"another key":              func(c *Config) { c.Box = box(t, "x") },
		"another method":           func(c *Config) { c.Login.By = "oidc" },
		"another issuer":           func(c *Config) { c.Login.Issuer = "https://other" },
		"only proxies are trusted": func(c *Config) { c.Names = false },
	} {
		other, _ := twoPods(t, change)
		wantEnded(t, name, other, cookie)
	}
	expired := s
	expired.Expires = time.Now().Add(-time.Second)
	_, cookie, err = one.seal(expired)
	must.Succeed(t, err)
	wantEnded(t, "expired", one, cookie)
	lost := s
	lost.Log = "an earlier log"
	text, _ := json.Marshal(lost)
	wantEnded(t, "of a log that was lost with its ends of sessions", one, one.Box.SealCookie(one.purpose, text))
	wantEnded(t, "the cookie of a login", one, one.Box.SealCookie(one.loginPurpose, text))
}

func TestNamesOfSessions(t *testing.T) {
	one, _ := twoPods(t, nil)
	for _, c := range []Credentials{{}, {User: "an\u200bn"}, {User: "a\nb"}, {User: strings.Repeat("a", 254)}, {User: " "}, {Token: "x"}, {User: "ann", Token: "x"}} {
		if s, _, err := one.Begin(t.Context(), c, netip.Addr{}); err == nil {
			t.Errorf("%+v began a session of %q", c, s.User)
		}
	}
	proxies, _ := twoPods(t, func(c *Config) { c.Names = false })
	if s, _, err := proxies.Begin(t.Context(), Credentials{User: "ann"}, netip.Addr{}); !errors.Is(err, problem.Forbidden) || len(proxies.Methods()) > 0 {
		t.Errorf("around the proxy: %+v, %v", s, err)
	}
}

// tokens writes a tokens file and returns the change that makes a server use it.
func tokens(t *testing.T, lines string) (change func(*Config)) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens")
	must.Write(t, file, lines)
	return func(c *Config) {
		method, err := auth.ReadStaticTokens(file, nil)
		must.Succeed(t, err)
		c.Auth, c.Names, c.Login.By = auth.New(method, nil), false, "token"
	}
}

// A session by a token ends with the token, and never moves to another user.
func TestSessionsEndWithTheirToken(t *testing.T) {
	line := func(token, user string) string { return fmt.Sprintf("%x %s\n", sha256.Sum256([]byte(token)), user) }
	change := tokens(t, line("one", "ann")+line("two", "bob"))
	m, _ := twoPods(t, change)
	_, anns := begin(t, m, Credentials{Token: "one"})
	_, bobs := begin(t, m, Credentials{Token: "two"})
	wantUser(t, m, anns, "ann")
	if strings.Contains(anns, "one") {
		t.Error("the cookie shows its token")
	}
	for _, wrong := range []Credentials{{Token: "three"}, {User: "ann"}, {Token: "a b"}} {
		if s, _, err := m.Begin(t.Context(), wrong, netip.Addr{}); err == nil {
			t.Errorf("%+v began a session of %s", wrong, s.User)
		}
	}
	change = tokens(t, line("one", "eve"))
	change(&m.Config) // a pod that has read the file again
	wantEnded(t, "a token that belongs to another user now", m, anns)
	wantEnded(t, "a removed token", m, bobs)
}

func TestSessionsOfAnIssuer(t *testing.T) {
	m, _ := twoPods(t, func(c *Config) { c.Auth = auth.New(auth.UserHeader{}, task.Admins{"group:ops"}) })
	m.OIDC = &auth.OIDC{}
	s, cookie, err := m.beginOIDC(auth.Principal{User: "ann", Groups: []string{"ops"}}, time.Now().Add(time.Minute), "")
	if err != nil || time.Until(s.Expires) > time.Minute+IssuerGrace {
		t.Fatalf("a token of a minute gives a session until %s, %v", s.Expires, err)
	}
	if who := wantUser(t, m, cookie, "ann"); !who.Admin {
		t.Error("the groups are lost")
	}
	many := []string{"ops"}
	for i := range 500 {
		many = append(many, fmt.Sprintf("group-%d", i))
	}
	s, cookie, err = m.beginOIDC(auth.Principal{User: "ann", Groups: many}, time.Now().Add(100*time.Hour), "")
	if err != nil || len(cookie) > maxCookie || time.Until(s.Expires) > Lifetime {
		t.Fatalf("many groups: %d bytes until %s, %v", len(cookie), s.Expires, err)
	}
	if who := wantUser(t, m, cookie, "ann"); !who.Admin {
		t.Error("the group of the administrators is lost")
	}
}

func TestNextPageIsAPageOfTheDashboard(t *testing.T) {
	for next, want := range map[string]string{
		"/ui/tasks/a?x=1&y=%20": "/ui/tasks/a?x=1&y=%20", "": "/ui/", "https://evil": "/ui/", "//evil": "/ui/", "/ui//evil": "/ui/", "/ui/\\evil": "/ui/",
		"/ui/\"><script>": "/ui/", "/ui/a\r\nX: y": "/ui/", "/ui/../x": "/ui/", "/ui/%2E./x": "/ui/", "/ui/x/%2e%2e/..": "/ui/", "javascript:alert(1)": "/ui/", "/uix": "/ui/", "/ui/" + strings.Repeat("a", 600): "/ui/",
	} {
		if got := page(next); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
	}
}
