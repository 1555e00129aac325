package api

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"k8s-cli/pkg/api/browser"
	"k8s-cli/pkg/auth"
	"k8s-cli/pkg/cache"
	"k8s-cli/pkg/session"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

// endedSessions is the log of ended sessions of a test, and its store.
type endedSessions struct {
	mu      sync.Mutex
	entries uint64
	store   *cache.Store
	manager *session.Manager
}

func (e *endedSessions) Append(_ context.Context, c task.Command) (task.Result, error) {
	raw, err := c.Encode()
	if err != nil {
		return task.Result{}, err
	}
	return e.fold(raw)
}

// fold appends an entry.
func (e *endedSessions) fold(commands ...json.RawMessage) (r task.Result, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	entry := task.Entry{Version: task.EntryVersion, Log: "log", Seq: e.entries + 1, Time: time.Now(), Commands: commands}
	if e.entries > 0 {
		entry.Writer, entry.Number = "writer", e.entries
	}
	e.entries++
	results, err := session.Follower{Store: e.store, Manager: e.manager}.Fold(entry)
	if len(results) > 0 {
		r = results[0]
	}
	return r, err
}

// withSessions gives a server that trusts names sessions.
func withSessions(c *Config) {
	e := &endedSessions{store: cache.New()}
	e.manager = session.New(session.Config{Login: task.Login{By: "header"}, Auth: auth.New(auth.UserHeader{}, nil), Names: true, Box: sealer, Log: e, Store: e.store})
	if _, err := e.fold(); err != nil { // the first entry names the log
		panic(err)
	}
	c.Sessions, c.Login = e.manager, task.Login{By: "header"}
}

// keys holds the keys of sessions by their cookies.
var keys sync.Map

// sessionKeyOf returns the key of the session of a cookie, "-" if there is none.
func sessionKeyOf(cookie string) string {
	if key, ok := keys.Load(cookie); ok {
		return key.(string)
	}
	return "-"
}

// page lists the headers of a request that a page of the dashboard makes with a cookie.
func page(cookie string, more ...string) []string {
	return append([]string{userHeader, "-", "Cookie", cookie, "X-Session-Key", sessionKeyOf(cookie), "X-Requested-With", "k8s-cli-ui", "Sec-Fetch-Site", "same-origin"}, more...)
}

// logIn returns the cookie of a new session.
func (s *served) logIn(user string) string {
	s.t.Helper()
	body, _ := json.Marshal(map[string]string{"user": user})
	got := s.send(http.MethodPost, "/session", string(body), page("")...)
	set := got.Header.Get("Set-Cookie")
	value, attributes, _ := strings.Cut(set, ";")
	if got.StatusCode != 200 || !strings.Contains(got.body, `"user":"`+user+`"`) || !strings.Contains(attributes, "HttpOnly") || !strings.Contains(attributes, "SameSite=Strict") ||
		!strings.Contains(strings.ToLower(attributes), "path=/") || strings.Contains(strings.ToLower(attributes), "domain") {
		s.t.Fatalf("log in: %d %s, cookie %q", got.StatusCode, got.body, set)
	}
	var begun struct {
		Key string `json:"session_key"`
	}
	if err := json.Unmarshal([]byte(got.body), &begun); err != nil || begun.Key == "" {
		s.t.Fatalf("log in: %s has no key", got.body)
	}
	keys.Store(value, begun.Key)
	return value
}

// The cookie of a session on a loopback address, which the servers at all ports of the address get, is not
// enough.
func TestCookiesOnLoopbackNeedTheirKey(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	anns, bobs := s.logIn("ann"), s.logIn("bob")
	for _, key := range []string{"-", "x", sessionKeyOf(bobs)} {
		s.send("GET", "/whoami", "", userHeader, "-", "Cookie", anns, "X-Session-Key", key).wantError(t, 401, "X-Session-Key: ")
	}
	s.send("GET", "/whoami?session_key=x", "", userHeader, "-", "Cookie", anns).wantError(t, 401, "X-Session-Key: ")
	s.send("POST", "/tasks/x/stop?session_key="+sessionKeyOf(anns), "", userHeader, "-", "Cookie", anns, "X-Requested-With", "k8s-cli-ui").wantError(t, 401, "X-Session-Key: ")
	stolen := s.raw("GET /whoami HTTP/1.1\r\nHost: x\r\nCookie: __Host-" + anns + "\r\n\r\n")[0]
	stolen.wantError(t, 401, "X-Session-Key: ")
	if got := s.send("GET", "/whoami?session_key="+sessionKeyOf(anns), "", userHeader, "-", "Cookie", anns); got.StatusCode != 200 || !strings.Contains(got.body, `"user":"ann"`) {
		t.Errorf("a link with the key: %d %s", got.StatusCode, got.body)
	}
}

func TestSessionOfABrowser(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	if got := s.send("GET", "/session", "", userHeader, "-"); got.StatusCode != 200 || got.body != `{"login":{"identified_by":"header","methods":["name"]}}` {
		t.Errorf("logged out: %d %s", got.StatusCode, got.body)
	}
	if got := s.send("GET", "/session", ""); !strings.Contains(got.body, `"user":"ann"`) || !strings.Contains(got.body, `"by":"proxy"`) {
		t.Errorf("by the header: %s", got.body)
	}
	if got := s.send("GET", "/session", "", userHeader, "-", "Cookie", "k8s-cli-login-error=made-up"); strings.Contains(got.body, "made-up") {
		t.Errorf("with the error of a login that somebody made up: %s", got.body)
	}
	cookie := s.logIn("bob")
	if got := s.send("GET", "/session", "", page(cookie)...); !strings.Contains(got.body, `"user":"bob"`) || !strings.Contains(got.body, `"by":"session","expires_at":"`) {
		t.Errorf("logged in: %s", got.body)
	}
	s.send("GET", "/tasks/x", "", page(cookie)...).wantOK(t)
	s.send("POST", "/tasks/x/stop", "", page(cookie)...)
	s.send("GET", "/tasks/y", "", "Cookie", cookie).wantOK(t) // the name in the header takes precedence
	if told := s.told(); len(told) != 1 || told[0].Stop.User != "bob" {
		t.Errorf("told %+v", told)
	}
	if got := s.send("DELETE", "/session", "", page(cookie)...); got.StatusCode != 200 || !strings.Contains(got.Header.Get("Set-Cookie"), "=;") {
		t.Errorf("log out: %d %s %q", got.StatusCode, got.body, got.Header.Get("Set-Cookie"))
	}
	s.send("GET", "/tasks", "", page(cookie)...).wantError(t, 401, "the session has ended")
	s.send("DELETE", "/session", "", page(cookie)...).wantError(t, 401, "the session has ended")
}

// The audit log has each login and logout of a browser, and each login that failed.
func TestSessionsInTheAuditLog(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	cookie := s.logIn("bob")
	s.send("POST", "/session", `{"token":"x"}`, page("")...).wantError(t, 403, "does not offer this kind of login")
	s.send("DELETE", "/session", "", page(cookie)...)
	s.wantLogged(
		`logger=audit user=bob command="begin session" id="" code=200 verdict=accepted`,
		`logger=audit user="" command="begin session" id="" code=403 verdict="this server does not offer`,
		`logger=audit user=bob command="end session" id="" code=200 verdict=accepted`,
	)
}

// A page of another origin can neither use a session nor begin one.
func TestSessionsAgainstOtherOrigins(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	cookie := s.logIn("ann")
	origin := "http://" + s.address
	for _, tt := range []struct {
		name         string
		method, path string
		headers      []string
		code         int
	}{
		{"a form", "POST", "/tasks/x/stop", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a form of another port", "POST", "/tasks/x/stop", []string{"Sec-Fetch-Site", "same-site", "X-Requested-With", "k8s-cli-ui"}, 403},
		{"a form of an old browser", "POST", "/tasks/x/stop", []string{"Origin", origin}, 403},
		{"another origin of an old browser", "POST", "/tasks/x/stop", []string{"Origin", "http://127.0.0.1:1", "X-Requested-With", "k8s-cli-ui"}, 403},
		{"no origin at all", "POST", "/tasks/x/stop", []string{"Origin", "null", "X-Requested-With", "k8s-cli-ui"}, 403},
		{"another header", "POST", "/tasks/x/stop", []string{"Origin", origin, "X-Requested-With", "XMLHttpRequest"}, 403},
		{"an image", "GET", "/tasks/x", []string{"Sec-Fetch-Site", "cross-site"}, 403},
		{"a stream", "GET", "/events", []string{"Sec-Fetch-Site", "same-site", "Accept", "text/event-stream"}, 403},
		{"the end of the session", "DELETE", "/session", []string{"Sec-Fetch-Site", "cross-site", "X-Requested-With", "k8s-cli-ui"}, 403},
		{"a login", "POST", "/session", []string{"Sec-Fetch-Site", "cross-site", "X-Requested-With", "k8s-cli-ui"}, 403},
		{"a login by a form", "POST", "/session", []string{"Sec-Fetch-Site", "same-origin"}, 403},
		{"an old browser", "POST", "/tasks/x/stop", []string{"Origin", origin, "X-Requested-With", "k8s-cli-ui"}, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := s.send(tt.method, tt.path, `{"user":"eve"}`, append([]string{userHeader, "-", "Cookie", cookie, "X-Session-Key", sessionKeyOf(cookie)}, tt.headers...)...)
			if got.StatusCode != tt.code || got.Header.Get("Set-Cookie") != "" || got.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Errorf("%d %s %v, want %d", got.StatusCode, got.body, got.Header, tt.code)
			}
		})
	}
	if told := s.told(); len(told) != 1 {
		t.Errorf("%d commands came through", len(told))
	}
}

func TestCookiesOfSessions(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	anns, bobs := s.logIn("ann"), s.logIn("bob")
	name, _, _ := strings.Cut(anns, "=")
	changed := []byte(anns)
	changed[len(name)+20] ^= 1 // another character of base64, or none
	for what, cookie := range map[string]string{
		"two sessions": anns + "; " + bobs, "a changed cookie": string(changed), "no session": name + "=x",
		"a cookie with quotes": name + `="` + strings.TrimPrefix(anns, name+"=") + `"x`,
	} {
		if got := s.send("GET", "/tasks", "", page(cookie)...); got.StatusCode != 401 {
			t.Errorf("%s: %d for %q", what, got.StatusCode, cookie)
		}
	}
	for what, cookie := range map[string]string{"one session twice": anns + "; " + anns, "a shorter cookie": anns[:len(anns)-8], "half of each": anns[:60] + bobs[60:]} {
		if got := s.send("GET", "/tasks", "", page(cookie, "X-Session-Key", sessionKeyOf(anns))...); got.StatusCode != 401 {
			t.Errorf("%s: %d for %q", what, got.StatusCode, cookie)
		}
	}
	s.send("GET", "/tasks", "", page("other=1; x")...).wantError(t, 401, userHeader)
	// A cookie that somebody planted does not become the cookie of the session.
	got := s.send("POST", "/session", `{"user":"ann"}`, page(bobs)...)
	if set := got.Header.Get("Set-Cookie"); got.StatusCode != 200 || strings.HasPrefix(set, bobs) || strings.HasPrefix(set, anns) {
		t.Errorf("the session was fixed before: %d %q", got.StatusCode, set)
	}
	for _, user := range []string{"a\\r\\nSet-Cookie: x=y", "a\\u200b", ""} {
		if got := s.send("POST", "/session", `{"user":"`+user+`"}`, page("")...); got.StatusCode != 401 && got.StatusCode != 403 || len(got.Header.Values("Set-Cookie")) > 0 {
			t.Errorf("%q: %d %v", user, got.StatusCode, got.Header)
		}
	}
	s.send("POST", "/session", `[`, page("")...).wantError(t, 422, "the body must be")
}

// A login is not decompressed: a small body could become a large one before anybody is identified.
func TestLoginsAreNotDecompressed(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	got := s.send("POST", "/session", gzipped(`{"user":"ann"}`), page("", "Content-Encoding", "gzip")...)
	got.wantError(t, 422, "the body must be")
	s.send("POST", "/session", `{"user":"ann","x":"`+strings.Repeat("x", 33<<10)+`"}`, page("")...).wantError(t, 422, "the body must be")
}

// The header of the authentication method counts, and not a session: whoever the header names
// cannot end the session of another user, nor appear in the audit log for it.
func TestHeaderAndSession(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	cookie := s.logIn("bob")
	s.send("DELETE", "/session?all=true", "", page(cookie, userHeader, "ann")[2:]...).wantError(t, 401, "the request has no session")
	if got := s.send("GET", "/session", "", page(cookie, userHeader, "ann")[2:]...); !strings.Contains(got.body, `"user":"ann"`) || !strings.Contains(got.body, `"by":"proxy"`) {
		t.Errorf("%s", got.body)
	}
	if got := s.send("GET", "/session", "", page(cookie)...); !strings.Contains(got.body, `"user":"bob"`) {
		t.Errorf("after the end by another user: %s", got.body)
	}
}

// Over HTTPS, only a cookie that no other host of the domain can set counts.
func TestCookiesOverHTTPS(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withSessions)
	request := func(method, cookie, body string) answered {
		return s.raw(method + " /session HTTP/1.1\r\nHost: x\r\nX-Requested-With: k8s-cli-ui\r\nCookie: " + cookie +
			"\r\nContent-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body)[0]
	}
	set, _, _ := strings.Cut(request("POST", "", `{"user":"ann"}`).Header.Get("Set-Cookie"), ";")
	if !strings.HasPrefix(set, "__Host-") {
		t.Fatalf("cookie %q", set)
	}
	if got := request("GET", set, ""); !strings.Contains(got.body, `"user":"ann"`) {
		t.Errorf("%d %s", got.StatusCode, got.body)
	}
	if got := request("GET", strings.TrimPrefix(set, "__Host-"), ""); strings.Contains(got.body, "ann") {
		t.Errorf("a planted cookie: %d %s", got.StatusCode, got.body)
	}
}

// The end of a session ends its streams, and no other.
func TestStreamsEndWithTheirSession(t *testing.T) {
	t.Parallel()
	began := make(chan string, 4)
	f := &fake{tail: func(ctx context.Context, _ task.LogOptions, w *bufio.Writer) error {
		_ = w.Flush()
		began <- ""
		<-ctx.Done()
		return ctx.Err()
	}}
	s := serveWith(t, f, withSessions)
	anns, bobs := s.logIn("ann"), s.logIn("bob")
	ended := make(chan error, 2)
	follow := func(id, cookie string) {
		response, err := s.do("GET", "/tasks/"+id+"/logs", nil, userHeader, "-", "Cookie", cookie, "X-Session-Key", sessionKeyOf(cookie))
		if err == nil {
			_, err = bufio.NewReader(response.Body).ReadString('\n')
			response.Body.Close()
		}
		ended <- err
	}
	go follow("a", anns)
	go follow("x", bobs)
	<-began
	<-began
	s.send("DELETE", "/session", "", page(anns)...)
	if err := <-ended; err == nil {
		t.Error("the log looks complete")
	}
	select {
	case err := <-ended:
		t.Errorf("the stream of another session ended: %v", err)
	default:
	}
	s.send("DELETE", "/session", "", page(bobs)...).wantOK(t)
	if err := <-ended; err == nil {
		t.Error("the other log looks complete")
	}
}

func TestServerWithoutSessions(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	for _, route := range []string{"GET /session", "POST /session", "DELETE /session", "GET /session/oidc/start", "GET /session/oidc/callback"} {
		method, path, _ := strings.Cut(route, " ")
		s.send(method, path, "").wantError(t, 404, "no sessions")
	}
	sessions := serveWith(t, &fake{}, withSessions)
	sessions.send("GET", "/session/oidc/start", "").wantError(t, 403, "does not offer")
	if got := sessions.send("GET", "/session/oidc/callback?state=x&code=y", ""); got.StatusCode != 200 || !strings.Contains(got.body, "url=/ui/login\"") || strings.Contains(got.Header.Get("Set-Cookie"), "session=") {
		t.Errorf("a callback without a login: %d %s", got.StatusCode, got.body)
	}
}

// A reassigned authenticator identifies every sender as user.
type reassigned struct{ user string }

func (*reassigned) ReadsUserHeader() bool { return false }

func (r *reassigned) Identify(context.Context, task.Credentials) (task.Identity, error) {
	return task.Identity{User: r.user}, nil
}

// The credentials of a session in a pod are checked again: the session of a browser, and a token, which may
// belong to another user by then.
func TestCredentialsAreCheckedAgain(t *testing.T) {
	t.Parallel()
	var c Config
	withSessions(&c)
	one, cookie, err := c.Sessions.Begin(t.Context(), session.Credentials{User: "ann"}, netip.Addr{})
	must.Succeed(t, err)
	token := &reassigned{"ann"}
	who := &callers{auth: token}
	who.sessions = &browser.Sessions{Manager: c.Sessions, Identify: who.identity, Peer: who.peer}
	var check func(context.Context) error
	app := fiber.New(fiber.Config{Immutable: true})
	app.Get("/", who.authenticated(func(c *fiber.Ctx, user string) (err error) {
		check, err = who.recheck(c, user)
		return err
	}))
	for header, end := range map[string]func() error{
		"Cookie: __Host-k8s-cli-session=" + cookie: func() error { return c.Sessions.End(t.Context(), one, false) },
		"Authorization: Bearer x":                  func() error { token.user = "bob"; return nil },
	} {
		request := httptest.NewRequest(http.MethodGet, "https://k8s.example/", http.NoBody)
		name, value, _ := strings.Cut(header, ": ")
		request.Header.Set(name, value)
		response, err := app.Test(request, -1)
		if err != nil || response.StatusCode != http.StatusOK || check(t.Context()) != nil {
			t.Fatalf("%s: %v, %v", name, response, err)
		}
		_ = response.Body.Close()
		must.Succeed(t, end())
		if err := check(t.Context()); !errors.Is(err, problem.Unauthorized) {
			t.Errorf("%s: after the end: %v", name, err)
		}
	}
}
