package auth

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"golang.org/x/oauth2"

	"k8s-cli/pkg/task/problem"
	testissuer "k8s-cli/test/testkit/issuer"
	"k8s-cli/test/testkit/must"
)

// An Issuer is an issuer for the tests of browsers.
type Issuer = issuer

// NewIssuer returns an issuer that ends with the test.
func NewIssuer(t testing.TB) *Issuer { return newIssuer(t) }

// Next sets the claims of the next ID tokens, what a browser brings back in place of a code, and
// the handler in place of the token endpoint.
func (i *issuer) Next(claims map[string]any, refuse url.Values, token http.HandlerFunc) {
	i.SetBehavior(testissuer.Behavior{
		Before: func(w http.ResponseWriter, r *http.Request) bool {
			switch {
			case r.URL.Path == "/authorize" && r.FormValue("scope") != "openid profile email groups":
				http.Error(w, "this is no authorization request", http.StatusBadRequest)
			case r.URL.Path == "/token" && token != nil:
				token(w, r)
			default:
				return false
			}
			return true
		},
		Edit: func(_ *http.Request, at testissuer.Endpoint, response map[string]any) {
			switch {
			case at == testissuer.Authorize && refuse != nil:
				delete(response, "code")
				for name := range refuse {
					response[name] = refuse.Get(name)
				}
			case at == testissuer.IDToken:
				response["sub"] = "1234"
				maps.Copy(response, claims)
			}
		},
	})
}

// authorized returns the code of a login.
func (i *issuer) authorized(o *OIDC, f CodeFlow) string {
	i.t.Helper()
	at, err := o.AuthCodeURL(i.t.Context(), f)
	must.Succeed(i.t, err)
	direct := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := direct.Get(at)
	must.Succeed(i.t, err)
	defer response.Body.Close()
	back, err := response.Location()
	if err != nil || !strings.HasPrefix(back.String(), f.Redirect+"?") || back.Query().Get("state") != f.State {
		i.t.Fatalf("the issuer answered %s: %v, %v", response.Status, back, err)
	}
	return back.Query().Get("code")
}

// newFlow returns a login at an issuer.
func newFlow() CodeFlow {
	return CodeFlow{Redirect: "https://k8s.example/back", State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier()}
}

func TestCodeFlow(t *testing.T) {
	i := newIssuer(t)
	o := i.oidc(t)
	elsewhere := func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("again") {
			t.Error("the code went to another URL")
		}
		http.Redirect(w, r, "/token?again", http.StatusTemporaryRedirect)
	}
	says := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for name, tt := range map[string]struct {
		change func(*CodeFlow)
		claims map[string]any
		token  http.HandlerFunc
		kind   error
		text   string
	}{
		"right":              {},
		"another verifier":   {change: func(f *CodeFlow) { f.Verifier = oauth2.GenerateVerifier() }, kind: problem.Unauthorized, text: `"invalid_grant"`},
		"another server":     {change: func(f *CodeFlow) { f.Redirect = "https://evil.example/back" }, kind: problem.Unauthorized, text: `"invalid_grant"`},
		"another nonce":      {claims: map[string]any{"nonce": rand.Text()}, kind: problem.Unauthorized, text: "for another login"},
		"no nonce":           {claims: map[string]any{"nonce": nil}, kind: problem.Unauthorized, text: "for another login"},
		"another audience":   {claims: map[string]any{"aud": "grafana"}, kind: problem.Unauthorized, text: "audience"},
		"another issuer":     {claims: map[string]any{"iss": "https://evil.example"}, kind: problem.Unauthorized, text: "issue"},
		"expired":            {claims: map[string]any{"exp": 1}, kind: problem.Unauthorized, text: "expired"},
		"no ID token":        {token: says(200, `{"access_token":"a"}`), kind: problem.Unavailable, text: "no ID token"},
		"no response":        {token: says(200, `secret`), kind: problem.Unavailable, text: "cannot complete"},
		"an outage":          {token: says(503, `secret`), kind: problem.Unavailable, text: "503"},
		"a redirect":         {token: elsewhere, kind: problem.Unavailable, text: "307"},
		"an error with text": {token: says(400, `{"error":"x\u001b[31m","error_description":"<b>secr\u202eet</b>"}`), kind: problem.Unauthorized, text: `("x\x1b[31m": "<b>secr\u202eet</b>")`},
	} {
		t.Run(name, func(t *testing.T) {
			i.Next(tt.claims, nil, tt.token)
			f := newFlow()
			code := i.authorized(o, f)
			if tt.change != nil {
				tt.change(&f)
			}
			p, _, err := o.Exchange(t.Context(), netip.Addr{}, f, code)
			if !errors.Is(err, tt.kind) || tt.kind != nil && (!strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "secret") || p.User != "") {
				t.Errorf("%+v, %v", p, err)
			}
			if tt.kind != nil {
				return
			}
			if p.User != "1234" {
				t.Errorf("the login of %q", p.User)
			}
			if p, _, err := o.Exchange(t.Context(), netip.Addr{}, f, code); !errors.Is(err, problem.Unauthorized) {
				t.Errorf("the same code again: %+v, %v", p, err)
			}
		})
	}
}

// Codes that nobody issued cause few requests to the issuer.
func TestWrongCodesAreLimited(t *testing.T) {
	i := newIssuer(t)
	asked := 0
	i.Next(nil, nil, func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.WriteHeader(http.StatusBadRequest)
	})
	o := i.oidc(t)
	exchange := func(peer netip.Addr, want error) {
		t.Helper()
		if _, _, err := o.Exchange(t.Context(), peer, newFlow(), "x"); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", peer, err, want)
		}
	}
	peer := netip.MustParseAddr("10.1.2.3")
	exchange(peer, problem.Unavailable)
	for later := time.Now().Add(time.Hour); o.codes.allow(peer, later) == nil; {
	}
	exchange(peer, problem.LimitReached)
	exchange(netip.MustParseAddr("10.1.2.4"), problem.Unavailable)
	if asked != 2 {
		t.Errorf("%d requests to the issuer, want 2", asked)
	}
}

// An issuer without a page for logins does not lead browsers in a circle.
func TestIssuerWithoutCodeFlow(t *testing.T) {
	var at string
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": at, "jwks_uri": at + "/keys", "token_endpoint": at})
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	at = s.URL
	o, err := NewOIDC(OIDCConfig{Issuer: at, Audience: "k8s-cli"})
	must.Succeed(t, err)
	if url, err := o.AuthCodeURL(t.Context(), newFlow()); !errors.Is(err, problem.Forbidden) {
		t.Errorf("leads to %q, %v", url, err)
	}
}
