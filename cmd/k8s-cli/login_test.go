package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"k8s-cli/cmd/k8s-cli/internal/console"
	"k8s-cli/cmd/k8s-cli/internal/exit"
	"k8s-cli/pkg/client"
	"k8s-cli/pkg/client/account"
	"k8s-cli/test/testkit/must"
)

// A person is a user with a terminal and a browser, and a server that requires a login.
type person struct {
	*env
	apiURL    string
	fake      *fakeServer
	server    *httptest.Server
	elsewhere atomic.Int32 // requests that reached another server
	out, talk bytes.Buffer
	pages     chan page // last page of each visit
}

// A page is the last page of a visit with the browser.
type page struct {
	code   int
	header http.Header
	body   string
}

func newPerson(t *testing.T, door string) *person {
	t.Helper()
	p := &person{pages: make(chan page, 10)}
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { p.elsewhere.Add(1) }))
	t.Cleanup(thief.Close)
	p.fake = newFakeServer(thief.URL)
	t.Cleanup(p.fake.issuer.Close)
	p.server = httptest.NewServer(p.fake)
	t.Cleanup(p.server.Close)
	p.env = &env{
		Console:    console.Console{In: strings.NewReader("y\n"), Out: console.NewOutput(&p.out), ErrOut: &p.talk, Interactive: true, Asks: true},
		lookup:     func(string) (string, bool) { return "", false },
		settings:   account.Settings(t.TempDir()),
		connect:    client.New,
		browse:     func(address string) error { go p.visit(address); return nil },
		interrupts: func(ctx context.Context) (context.Context, context.CancelFunc) { return ctx, func() {} },
	}
	p.apiURL = p.server.URL + "/door/" + door
	return p
}

func (p *person) visit(address string) {
	answer, err := http.Get(address)
	if err != nil {
		p.pages <- page{body: err.Error()}
		return
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	p.pages <- page{answer.StatusCode, answer.Header, string(body) + fmt.Sprint(err)}
}

// runs runs a command and returns its exit code.
func (p *person) runs(t *testing.T, command string) int {
	return run(t.Context(), p.env, append([]string{"--api-url", p.apiURL}, strings.Fields(command)...))
}

// isLoggedIn reports whether the CLI has stored a credential.
func (p *person) isLoggedIn(t *testing.T) bool {
	t.Helper()
	var kept struct {
		Servers map[string]any `json:"servers"`
	}
	raw, err := os.ReadFile(filepath.Join(string(p.settings), "credentials.json"))
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return kept.Servers[p.apiURL] != nil
}

func TestLoginWithTheBrowser(t *testing.T) {
	for kind, code := range map[string]int{"both": http.StatusOK, "code": http.StatusOK, "nonce": http.StatusOK, "audience": http.StatusOK, "denied": 400, "mixed-up": 400} {
		t.Run(kind, func(t *testing.T) {
			p := newPerson(t, "oidc-"+kind)
			ended := p.runs(t, "auth login")
			got := <-p.pages
			if got.code != code || !strings.HasPrefix(got.header.Get("Content-Security-Policy"), "default-src 'none';") || !strings.HasSuffix(got.body, "</html>\n<nil>") {
				t.Errorf("the browser ends on %+v", got)
			}
			if strings.ContainsFunc(p.talk.String(), obeyed) {
				t.Errorf("a terminal obeys %q", p.talk.String())
			}
			wrong := map[string]string{
				"nonce":    "returned an ID token of another login (wrong nonce)",
				"audience": `expected audience "cli" got ["another client"]`,
				"denied":   `the issuer refused: access_denied \x1b]0;owned\a\u009b31m\u202egpj.\u200b`,
				"mixed-up": "the response comes from another issuer, https://id.example",
			}[kind]
			if wrong != "" {
				if ended != exit.Failure || !strings.Contains(p.talk.String(), wrong) || p.isLoggedIn(t) {
					t.Errorf("exit code %d, talk %q", ended, p.talk.String())
				}
				return
			}
			if ended != 0 || !p.isLoggedIn(t) || p.out.String() != "✓ Logged in as: ann@example.com\n" || strings.Contains(p.talk.String(), "WDJB") {
				t.Errorf("exit code %d, output %q, talk %q", ended, p.out.String(), p.talk.String())
			}
			if g := p.fake.issuer.Grants(); g != "authorization_code refresh_token" {
				t.Errorf("the issuer was asked for %s", g)
			}
		})
	}
}

// TestAnotherPageCannotEndTheLogin checks that the CLI accepts only the response to its
// own login.
func TestAnotherPageCannotEndTheLogin(t *testing.T) {
	p := newPerson(t, "oidc-both")
	p.browse = func(address string) error {
		u, err := url.Parse(address)
		if err != nil {
			return err
		}
		back := u.Query().Get("redirect_uri")
		go func() {
			for _, forged := range []string{back + "?code=stolen", back + "?code=stolen&state=guessed", strings.TrimSuffix(back, "/callback") + "/"} {
				p.visit(forged)
			}
			p.visit(address)
		}()
		return nil
	}
	if code := p.runs(t, "auth login"); code != 0 || !p.isLoggedIn(t) {
		t.Errorf("exit code %d, talk %q", code, p.talk.String())
	}
	for _, want := range []int{400, 400, 404, 200} {
		if got := <-p.pages; got.code != want || strings.Contains(got.body, "guessed") {
			t.Errorf("the browser ends on %+v, want %d", got, want)
		}
	}
}

// TestLoginWithACode checks that the CLI uses the device flow on request, and where a
// browser is useless.
func TestLoginWithACode(t *testing.T) {
	for _, tt := range []struct {
		name, door, command string
		set                 func(*person)
	}{
		{"no terminal", "oidc-both", "auth login", func(p *person) { p.Interactive = false }},
		{"no browser", "oidc-both", "auth login", func(p *person) { p.browse = nil }},
		{"--no-browser", "oidc-both", "auth login --no-browser", nil},
		{"--device", "oidc-both", "auth login --device", nil},
		{"an issuer without the other flow", "oidc-device", "auth login", nil},
		{"an issuer without S256", "oidc-no-pkce", "auth login", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, tt.door)
			if tt.set != nil {
				tt.set(p)
			}
			code, talk := p.runs(t, tt.command), p.talk.String()
			if code != 0 || !p.isLoggedIn(t) || !strings.Contains(talk, "enter the code WDJB-MJHT\n") || strings.Index(talk, "  Issuer:    http://") > strings.Index(talk, "WDJB") {
				t.Errorf("exit code %d, talk %q", code, talk)
			}
		})
	}
}

// TestHostileIssuers checks that the CLI sends no credentials to an untrusted issuer or
// to any other host.
func TestHostileIssuers(t *testing.T) {
	for _, tt := range []struct{ door, command, want string }{
		{"oidc-foreign", "auth login", `the issuer "http://id.example" is not an https:// URL`},
		{"oidc-moved", "auth login", "redirects to another host"},
		{"oidc-token-moved", "auth login", "redirects to another host"},
		{"oidc-token-moved", "auth login --device", "redirects to another host"},
		{"oidc-plain", "auth login", `names the endpoint "http://id.example/token", which is not an https:// URL`},
		{"oidc-file", "auth login", `names the endpoint "127.0.0.1/x.desktop", which is not an https:// URL`},
		{"oidc-phishing", "auth login --device", `"http://id.example/device?code=WDJB-MJHT", which is not an https:// URL; do not enter the code anywhere`},
		{"oidc-broken", "auth login", `500 Internal Server Error: \x1b]0;owned\a\u009b31m\u202egpj.\u200b`},
		{"oidc-impatient", "auth login --device", "requests a polling interval of -1 seconds"},
		{"oidc-escapes", "auth login --device", `Open https://id.example/\u009b\u202e and enter the code \x1b]0;owned\a\u009b31m\u202egpj.\u200b`},
		{"oidc-audience", "auth login --device", `expected audience "cli" got ["another client"]`},
	} {
		t.Run(tt.door+" "+tt.command, func(t *testing.T) {
			t.Parallel()
			p := newPerson(t, tt.door)
			code, talk := p.runs(t, tt.command), p.talk.String()
			if code != exit.Failure || !strings.Contains(talk, tt.want) || strings.ContainsFunc(talk, obeyed) || p.isLoggedIn(t) || len(talk) > 2000 {
				t.Errorf("exit code %d, talk %q", code, talk)
			}
			if n := p.elsewhere.Load(); n != 0 {
				t.Errorf("another host got %d requests", n)
			}
		})
	}
	p := newPerson(t, "oidc-code")
	p.Interactive = false
	if code := p.runs(t, "auth login"); code != exit.Failure || !strings.Contains(p.talk.String(), "this machine has no browser or terminal") {
		t.Errorf("neither way: exit code %d, talk %q", code, p.talk.String())
	}
}

// TestLogoutRevokesTheSession checks that logout deletes the credentials on the machine in any
// case, and revokes the session where the issuer can.
func TestLogoutRevokesTheSession(t *testing.T) {
	for kind, warning := range map[string]string{
		"both":             "",
		"no-revocation":    "has no revocation endpoint",
		"stubborn":         "503 Service Unavailable",
		"plain-revocation": `names the revocation endpoint "http://id.example/revoke", which is not an https:// URL`,
	} {
		t.Run(kind, func(t *testing.T) {
			p := newPerson(t, "oidc-"+kind)
			if code := p.runs(t, "auth login"); code != 0 || !p.isLoggedIn(t) {
				t.Fatalf("login: exit code %d, talk %q", code, p.talk.String())
			}
			must.Write(t, filepath.Join(string(p.settings), "user.json"), `{"username":"ann"}`)
			p.out.Reset()
			p.talk.Reset()
			code := p.runs(t, "auth logout")
			if talk := p.talk.String(); code != 0 || p.isLoggedIn(t) || (talk == "") != (warning == "") || !strings.Contains(talk, warning) || strings.ContainsFunc(talk, obeyed) {
				t.Errorf("exit code %d, output %q, talk %q", code, p.out.String(), talk)
			}
			if got := p.fake.issuer.Revoked(); (got == "again of cli, a refresh_token") != (warning == "") {
				t.Errorf("the issuer revoked %q", got)
			}
			if p.out.Reset(); p.runs(t, "auth whoami") != 0 || p.out.String() != "Not logged in\n" {
				t.Errorf("whoami printed %q", p.out.String())
			}
		})
	}
}
