package auth

import (
	"errors"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	testissuer "k8s-cli/test/testkit/issuer"
	"k8s-cli/test/testkit/must"
)

// An issuer is an issuer whose user is "1234".
type issuer struct {
	*testissuer.Issuer
	t testing.TB
}

func newIssuer(t testing.TB) *issuer {
	i := &issuer{testissuer.New("k8s-cli", testissuer.NewKey("first", "RS256")), t}
	t.Cleanup(i.Close)
	i.Next(nil, nil, nil)
	return i
}

// oidc returns the method that accepts tokens of the issuer.
func (i *issuer) oidc(t testing.TB) *OIDC {
	t.Helper()
	o, err := NewOIDC(OIDCConfig{Issuer: i.URL, Audience: "k8s-cli"})
	must.Succeed(t, err)
	return o
}

// beAway makes the keys unavailable.
func (i *issuer) beAway() {
	i.SetBehavior(testissuer.Behavior{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/keys" {
			return false
		}
		w.WriteHeader(http.StatusBadGateway)
		return true
	}})
}

// token returns a token with these claims, which override the default claims.
func (i *issuer) token(claims map[string]any) string {
	all := map[string]any{"sub": "1234"}
	maps.Copy(all, claims)
	return i.Token(all)
}

func (i *issuer) sign(header, claims map[string]any) string {
	return testissuer.Sign(header, claims, i.Key().SignText)
}

func TestOIDC(t *testing.T) {
	i := newIssuer(t)
	o, err := NewOIDC(OIDCConfig{Issuer: i.URL, Audience: "k8s-cli", UserClaim: "email"})
	must.Succeed(t, err)
	ann := map[string]any{"email": "ann@example.com", "groups": []string{"ops"}}
	with := func(name string, value any) map[string]any {
		claims := map[string]any{name: value}
		for k, v := range ann {
			if _, ok := claims[k]; !ok {
				claims[k] = v
			}
		}
		return claims
	}
	right := i.token(ann)
	unsigned := i.sign(map[string]any{"alg": "none"}, map[string]any{"iss": i.URL, "aud": "k8s-cli", "exp": time.Now().Add(time.Hour).Unix(), "email": "ann@example.com"})
	for _, tt := range []struct{ name, token, want, text string }{
		{"right", right, "ann@example.com", ""},
		{"expired", i.token(with("exp", time.Now().Add(-time.Minute).Unix())), "", "expired"},
		{"not yet", i.token(with("nbf", time.Now().Add(time.Hour).Unix())), "", "nbf"},
		{"another audience", i.token(with("aud", "grafana")), "", "audience"},
		{"another issuer", i.token(with("iss", "https://elsewhere.example")), "", "issue"},
		{"an address that nobody verified", i.token(with("email_verified", false)), "", "not verified"},
		{"one that somebody did", i.token(with("email_verified", true)), "ann@example.com", ""},
		{"no name", i.token(map[string]any{"email": 7}), "", "is not a name"},
		{"a name with a line break", i.token(with("email", "a\nb")), "", "control characters"},
		{"changed", right[:len(right)-8] + "AAAAAAAA", "", "signature"},
		{"not signed", unsigned, "", "was rejected"},
		{"no token at all", "hello", "", "was rejected"},
		{"none", "", "", "Bearer TOKEN"},
	} {
		t.Run(tt.name, func(t *testing.T) { wants(t, o, task.Credentials{Token: tt.token}, tt.want, tt.text) })
	}
	p, err := o.Identify(t.Context(), task.Credentials{Token: right})
	if err != nil || !cmp.Equal(p.Groups, []string{"ops"}) {
		t.Errorf("groups %v, %v", p.Groups, err)
	}
	one, err := o.Identify(t.Context(), task.Credentials{Token: i.token(with("groups", "research"))})
	if err != nil || !cmp.Equal(one.Groups, []string{"research"}) {
		t.Errorf("a single group: %v, %v", one.Groups, err)
	}
}

// TestOIDCKeysAreCachedAndRotated checks that a new key is fetched, and that unknown key
// ids cause few requests to the issuer.
func TestOIDCKeysAreCachedAndRotated(t *testing.T) {
	i := newIssuer(t)
	o := i.oidc(t)
	for n := range 5 {
		wants(t, o, task.Credentials{Token: i.token(map[string]any{"jti": n})}, "1234", "")
	}
	if i.Lookups() != 1 {
		t.Errorf("five tokens of one key had it fetched %d times", i.Lookups())
	}
	former := i.token(map[string]any{"jti": "former"})
	i.SetKeys(testissuer.NewKey("second", "RS256"))
	forget(o)
	wants(t, o, task.Credentials{Token: i.token(nil)}, "1234", "")
	// The library drops the former keys a moment after the first use of the new keys.
	for {
		if _, err := o.Identify(t.Context(), task.Credentials{Token: former}); errors.Is(err, problem.Unauthorized) {
			break
		}
		o.cache = newTokenCache()
		time.Sleep(time.Millisecond)
	}
	wants(t, o, task.Credentials{Token: former}, "", "signature")
	asked, began := i.Lookups(), time.Now()
	for n := range 20 {
		wants(t, o, task.Credentials{Token: i.sign(map[string]any{"alg": "RS256", "kid": "made up"}, map[string]any{"iss": i.URL, "aud": "k8s-cli", "sub": "x", "jti": n, "exp": time.Now().Add(time.Hour).Unix()}) + "A"}, "", "was rejected")
	}
	if most := 2 + int(time.Since(began)/cacheTTL); i.Lookups()-asked > most {
		t.Errorf("20 tokens of a key that does not exist had the keys fetched %d times, at most %d are allowed", i.Lookups()-asked, most)
	}
}

// forget clears the cached responses, so that the next lookup sends a request to the
// issuer.
func forget(o *OIDC) {
	c, _ := o.http.Transport.(*cachingTransport)
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.responses)
}

// TestOIDCIssuerAway checks that tokens are not rejected while the issuer is unavailable.
func TestOIDCIssuerAway(t *testing.T) {
	i := newIssuer(t)
	o := i.oidc(t)
	if _, err := o.Verifier(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.beAway()
	if _, err := o.Identify(t.Context(), task.Credentials{Token: i.token(nil)}); !errors.Is(err, problem.Unavailable) {
		t.Errorf("with its keys out of reach: %v", err)
	}
	gone, err := NewOIDC(OIDCConfig{Issuer: "http://127.0.0.1:1", Audience: "k8s-cli"})
	must.Succeed(t, err)
	if _, err := gone.Identify(t.Context(), task.Credentials{Token: i.token(nil)}); !errors.Is(err, problem.Unavailable) {
		t.Errorf("with nobody there: %v", err)
	}
}
