package auth_test

import (
	"encoding/json"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/browser"
	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/seal"
	"k8s-cli/pkg/session"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

const (
	origin        = "https://k8s.example"
	sessionCookie = "__Host-k8s-cli-session"
	pendingCookie = "__Host-k8s-cli-login"
)

// newSite returns the sessions of a server that trusts the issuer.
func newSite(t *testing.T, i *auth.Issuer, change func(*auth.OIDCConfig)) *fiber.App {
	t.Helper()
	config := auth.OIDCConfig{Issuer: i.URL, Audience: "k8s-cli", UserClaim: "email"}
	if change != nil {
		change(&config)
	}
	method, err := auth.NewOIDC(config)
	must.Succeed(t, err)
	box, err := seal.New([]byte(strings.Repeat("k", seal.MinKeyBytes)))
	must.Succeed(t, err)
	store := cache.New() // on which no session has ended
	if _, err := store.Fold(task.Entry{Version: task.EntryVersion, Log: "log", Seq: 1, Time: time.Now()}); err != nil {
		t.Fatal(err)
	}
	login := task.Login{By: "oidc", Issuer: i.URL, ClientID: "k8s-cli"}
	s := &browser.Sessions{Login: login, Manager: session.New(session.Config{
		Login: login, Auth: auth.New(method, task.Admins{"root@example.com", "group:ops"}), OIDC: method, Box: box, Store: store,
	})}
	s.Peer = func(*fiber.Ctx) netip.Addr { return netip.Addr{} }
	s.Identify = func(c *fiber.Ctx) (task.Identity, error) {
		who, ok, err := s.Of(c)
		if err == nil && !ok {
			err = problem.Unauthorized
		}
		return who, err
	}
	app := fiber.New()
	app.Get("/session", s.Show)
	app.Get("/session/oidc/start", s.StartOIDC)
	app.Get("/session/oidc/callback", s.FinishOIDC)
	return app
}

// A visitor is a browser that visits a site over HTTPS.
type visitor struct {
	*testing.T
	site    *fiber.App
	cookies http.CookieJar
}

func visit(t *testing.T, site *fiber.App) visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	must.Succeed(t, err)
	return visitor{t, site, jar}
}

// get sends a request to the site, and returns the response with its body.
func (v visitor) get(address string) (*http.Response, string) {
	v.Helper()
	at, err := url.Parse(address)
	must.Succeed(v, err)
	r := httptest.NewRequest(http.MethodGet, at.RequestURI(), nil)
	r.Host = at.Host
	for _, cookie := range v.cookies.Cookies(at) {
		r.AddCookie(cookie)
	}
	response, err := v.site.Test(r, -1)
	must.Succeed(v, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must.Succeed(v, err)
	v.cookies.SetCookies(at, response.Cookies())
	return response, string(body)
}

// login begins a login, and returns the address at which the browser comes back.
func (v visitor) login(next string) string {
	v.Helper()
	response, body := v.get(origin + "/session/oidc/start?next=" + url.QueryEscape(next))
	at, err := response.Location()
	if err != nil || response.StatusCode != http.StatusSeeOther {
		v.Fatalf("start: %s %s, %v", response.Status, body, err)
	}
	direct := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	issuer, err := direct.Get(at.String())
	must.Succeed(v, err)
	defer issuer.Body.Close()
	back, err := issuer.Location()
	if err != nil || back.Scheme+"://"+back.Host+back.Path != origin+"/session/oidc/callback" {
		v.Fatalf("the issuer answered %s: %v, %v", issuer.Status, back, err)
	}
	return back.String()
}

// finish opens the address at which the browser comes back, and returns the next page.
func (v visitor) finish(back string) (next string) {
	v.Helper()
	response, body := v.get(back)
	_, after, found := strings.Cut(body, `content="0;url=`)
	next, _, ok := strings.Cut(after, `"`)
	if response.StatusCode != http.StatusOK || !found || !ok || strings.Count(body, "<a ") != 1 || strings.ContainsAny(next, "<>'") || !strings.HasPrefix(next, "/ui/") ||
		!strings.Contains(response.Header.Get("Content-Security-Policy"), "default-src 'none'") || response.Header.Get("Referrer-Policy") != "no-referrer" {
		v.Fatalf("callback: %s %v %s", response.Status, response.Header, body)
	}
	for _, set := range response.Header.Values("Set-Cookie") {
		if strings.HasPrefix(set, sessionCookie) && !strings.HasSuffix(set, "; path=/; HttpOnly; secure; SameSite=Strict") {
			v.Errorf("the cookie of the session: %s", set)
		}
	}
	return html.UnescapeString(next)
}

// user describes the user of the session of the browser.
func (v visitor) user() string {
	v.Helper()
	_, body := v.get(origin + "/session")
	return strings.TrimSuffix(strings.SplitN(body, `"login"`, 2)[0], ",")
}

// wantRefused finishes a login that must not give a session, and whose text must be on the page.
func (v visitor) wantRefused(what, back, text string) {
	v.Helper()
	if next, said := v.finish(back), v.loginError(); next != "/ui/login" || !strings.Contains(said, text) {
		v.Errorf("%s leads to %s, which says %q; want %q", what, next, said, text)
	}
	if got := v.user(); got != "{" {
		v.Errorf("%s: the session of %s", what, got)
	}
	if v.cookie(pendingCookie) != nil {
		v.Errorf("%s: the login goes on", what)
	}
}

// loginError returns why the login failed, as the login page shows it once.
func (v visitor) loginError() string {
	v.Helper()
	var session struct {
		LoginError string `json:"login_error"`
	}
	_, body := v.get(origin + "/session")
	must.Succeed(v, json.Unmarshal([]byte(body), &session))
	if _, again := v.get(origin + "/session"); strings.Contains(again, "login_error") {
		v.Errorf("the session says so again: %s", again)
	}
	return session.LoginError
}

func (v visitor) cookie(name string) *http.Cookie {
	at, _ := url.Parse(origin)
	for _, c := range v.cookies.Cookies(at) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// plant sets a cookie, as an attacker who controls the browser or reads its disk could.
func (v visitor) plant(c *http.Cookie) {
	at, _ := url.Parse(origin)
	v.cookies.SetCookies(at, []*http.Cookie{{Name: c.Name, Value: c.Value, Path: "/", Secure: true}})
}

const late = "began in another browser"

var ann = map[string]any{"email": "ann@example.com", "email_verified": true, "groups": []string{"ops"}}

func TestLoginOfABrowser(t *testing.T) {
	i := auth.NewIssuer(t)
	site := newSite(t, i, nil)
	i.Next(ann, nil, nil)
	v := visit(t, site)
	back := v.login("/ui/tasks/a?x=1&copy=%20")
	pending := v.cookie(pendingCookie)
	response, _ := visit(t, site).get(origin + "/session/oidc/start")
	if set := response.Header.Get("Set-Cookie"); !strings.HasPrefix(set, pendingCookie+"=") || !strings.Contains(set, "; path=/; HttpOnly; secure; SameSite=Lax") {
		t.Errorf("cookie of a login: %s", set)
	}
	if next := v.finish(back); next != "/ui/tasks/a?x=1&copy=%20" {
		t.Errorf("after the login comes %s", next)
	}
	if got := v.user(); !strings.Contains(got, `"user":"ann@example.com","groups":["ops"],"admin":true`) || !strings.Contains(got, `"by":"session"`) {
		t.Errorf("the session of %s", got)
	}
	ended := v.cookie(sessionCookie)
	if strings.Contains(ended.Value, "ann") || v.cookie(pendingCookie) != nil {
		t.Errorf("cookies: %+v", ended)
	}

	// The callback of a login works once, also for a thief of the cookie.
	visit(t, site).wantRefused("a callback without a login", back, late)
	thief := visit(t, site)
	thief.plant(pending)
	thief.wantRefused("a replayed callback", back, late)
	again := visit(t, site)
	again.plant(&http.Cookie{Name: sessionCookie, Value: pending.Value})
	if got := again.user(); got != "{" {
		t.Errorf("the cookie of a login as the cookie of a session: %s", got)
	}
}

// A browser can log in in several tabs at once, in any order. The cookies do not accumulate.
func TestLoginsInSeveralTabs(t *testing.T) {
	i := auth.NewIssuer(t)
	site := newSite(t, i, nil)
	i.Next(ann, nil, nil)
	v := visit(t, site)
	first, second, third := v.login("/ui/1"), v.login("/ui/2"), v.login("/ui/3")
	for back, want := range map[string]string{second: "/ui/2", first: "/ui/1", third: "/ui/3"} {
		if got := v.finish(back); got != want || !strings.Contains(v.user(), "ann@example.com") {
			t.Errorf("the login of %s leads to %s", want, got)
		}
	}
	at, _ := url.Parse(origin)
	if left := v.cookies.Cookies(at); len(left) != 1 {
		t.Errorf("%d cookies are left, want that of the session", len(left))
	}
	for range 20 {
		v.login("/ui/")
	}
	if all := v.cookies.Cookies(at); len(all) > 5 {
		t.Errorf("%d cookies after many logins", len(all))
	}
	if got := v.finish(v.login("/ui/last")); got != "/ui/last" {
		t.Errorf("after many logins: %s", got)
	}
}

func TestCallbacksOfOtherLogins(t *testing.T) {
	i := auth.NewIssuer(t)
	site := newSite(t, i, nil)
	i.Next(ann, nil, nil)
	with := func(address, name, value string) string {
		u, err := url.Parse(address)
		must.Succeed(t, err)
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	attacker, v := visit(t, site), visit(t, site)
	theirs := attacker.login("/ui/")
	v.login("/ui/")
	v.wantRefused("the callback of another browser", theirs, late)

	v = visit(t, site)
	v.wantRefused("no state", with(v.login("/ui/"), "state", ""), late)
	v = visit(t, site)
	v.wantRefused("another state", with(v.login("/ui/"), "state", strings.Repeat("A", 26)), late)
	v = visit(t, site)
	u, _ := url.Parse(theirs)
	v.wantRefused("the code of another login", with(v.login("/ui/"), "code", u.Query().Get("code")), "invalid_grant")
	v = visit(t, site)
	v.wantRefused("no code", with(v.login("/ui/"), "code", ""), "invalid_grant")

	// The page shows an error only if it is of the login of this browser, and as text.
	const markup = `<script>alert(1)</script>"'&`
	v.wantRefused("an error of nobody's login", origin+"/session/oidc/callback?error=x&error_description="+url.QueryEscape(markup), late)
	i.Next(ann, url.Values{"error": {"access_denied"}, "error_description": {markup}}, nil)
	v = visit(t, site)
	v.wantRefused("an error of the issuer", v.login("/ui/"), `rejected the login ("access_denied": "<script>alert(1)</script>\"'&")`)

	v = visit(t, site)
	i.Next(ann, nil, nil)
	back := v.login("/ui/")
	changed := *v.cookie(pendingCookie)
	changed.Value = changed.Value[:len(changed.Value)-1] + map[bool]string{true: "B", false: "A"}[strings.HasSuffix(changed.Value, "A")]
	v.plant(&changed)
	v.wantRefused("a changed cookie", back, late)
	v = visit(t, newSite(t, i, func(c *auth.OIDCConfig) { c.UserClaim = "sub" }))
	v.plant(attacker.cookie(pendingCookie))
	v.wantRefused("a login at a server with another configuration", theirs, late)
}

func TestTokensOfLogins(t *testing.T) {
	i := auth.NewIssuer(t)
	site := newSite(t, i, nil)
	for what, tt := range map[string]struct {
		claims map[string]any
		text   string
	}{
		"the token of another login":           {map[string]any{"email": "ann@example.com", "nonce": "x"}, "another login"},
		"a token without nonce":                {map[string]any{"email": "ann@example.com", "nonce": ""}, "another login"},
		"the token of another client":          {map[string]any{"email": "ann@example.com", "aud": "grafana"}, "audience"},
		"an address that somebody else enters": {map[string]any{"email": "root@example.com", "email_verified": false}, "not verified"},
		"a name with a line break":             {map[string]any{"email": "a\nSet-Cookie: x=y"}, "control characters"},
	} {
		i.Next(tt.claims, nil, nil)
		v := visit(t, site)
		v.wantRefused(what, v.login("/ui/"), tt.text)
	}
	i.Next(map[string]any{"email": "root@example.com"}, nil, nil)
	v := visit(t, site)
	v.finish(v.login("/ui/"))
	if got := v.user(); !strings.Contains(got, `"user":"root@example.com"`) || strings.Contains(got, "admin") {
		t.Errorf("an administrator whose address nobody verified: %s", got)
	}
	strict := newSite(t, i, func(c *auth.OIDCConfig) { c.RequireVerified = true })
	v = visit(t, strict)
	v.wantRefused("the same with --oidc-require-verified-email", v.login("/ui/"), "not verified")

	// The session of a user by one claim is not a session by another claim.
	i.Next(ann, nil, nil)
	v = visit(t, site)
	v.finish(v.login("/ui/"))
	other := visit(t, newSite(t, i, func(c *auth.OIDCConfig) { c.UserClaim = "sub" }))
	other.plant(v.cookie(sessionCookie))
	if got := other.user(); got != "{" {
		t.Errorf("after another --oidc-user-claim: %s", got)
	}
}

func TestPagesAfterLogin(t *testing.T) {
	i := auth.NewIssuer(t)
	site := newSite(t, i, nil)
	i.Next(ann, nil, nil)
	for next, want := range map[string]string{
		"": "/ui/", "//evil": "/ui/", `/\evil`: "/ui/", "https://evil/ui/": "/ui/", "https:/ui/": "/ui/", "/ui/../x": "/ui/", "/ui/%2e%2e/x": "/ui/", "/ui/..%2Fx": "/ui/",
		"/ui/./..": "/ui/", "/ui/%zz": "/ui/", "/ui/%2F/evil": "/ui/", "/ui/x;url=https://evil": "/ui/", "/ui/" + strings.Repeat("a", 3000): "/ui/",
		"/ui/tasks?q=a..b%2F..": "/ui/tasks?q=a..b%2F..", "/ui/tasks/": "/ui/tasks/", "/ui/a%20b#c": "/ui/a%20b#c",
	} {
		v := visit(t, site)
		if got := v.finish(v.login(next)); got != want {
			t.Errorf("%q leads to %q, want %q", next, got, want)
		}
		if !strings.Contains(v.user(), "ann@example.com") {
			t.Errorf("%q: no session", next)
		}
	}
}

// If the issuer does not answer, the browser shows the login page and not an error of the API.
func TestLoginWithoutIssuer(t *testing.T) {
	i := auth.NewIssuer(t)
	site := newSite(t, i, nil)
	i.Close()
	v := visit(t, site)
	response, body := v.get(origin + "/session/oidc/start")
	at, err := response.Location()
	if said := v.loginError(); err != nil || at.Path != "/ui/login" || !strings.Contains(said, "cannot be located") || v.cookie(pendingCookie) != nil {
		t.Errorf("%s %v %s, %v, and the login page says %q", response.Status, response.Header, body, err, said)
	}
}

// Without HTTPS, only a browser on the machine of the server can log in.
func TestCookiesOfALoginOnLoopback(t *testing.T) {
	i := auth.NewIssuer(t)
	i.Next(ann, nil, nil)
	site := newSite(t, i, nil)
	for address, secure := range map[string]bool{
		"http://localhost:46590": false, "http://127.0.0.1": false, "http://[::1]:8080": false, "http://k8s.example": true, "http://localhost.evil": true, "http://10.0.0.1": true,
	} {
		response, _ := visit(t, site).get(address + "/session/oidc/start")
		set := response.Header.Get("Set-Cookie")
		to, err := response.Location()
		must.Succeed(t, err)
		if got := strings.HasPrefix(set, "__Host-") && strings.Contains(set, "; secure"); got != secure || secure != strings.HasPrefix(to.Query().Get("redirect_uri"), "https://") ||
			!secure && strings.Contains(set, "secure") || !strings.Contains(set, "HttpOnly") {
			t.Errorf("%s: %s, to %s", address, set, to)
		}
	}
}
