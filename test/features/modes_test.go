package features

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/issuer"
	"k8s-cli/test/testkit/must"
)

// A mode is an authentication method with valid and invalid credentials.
type mode struct {
	*server
	user  string
	right []string            // headers
	wrong map[string][]string // by what is wrong
}

// With every --auth, valid credentials give access and others do not, for every operation of
// the API.
func TestAuthenticationModes(t *testing.T) {
	t.Parallel()
	for by, start := range map[string]func(*testing.T) mode{
		"header": byHeader, "header around the proxy": aroundProxy, "token": byToken, "tokenreview": byReview, "oidc": byIssuer,
	} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			m := start(t)
			if m.user != "" {
				if who := decode[task.Whoami](t, m.get(t, "", "/whoami", m.right...)); who.User != m.user || who.Admin {
					t.Errorf("the right one is %+v, want %s", who, m.user)
				}
			}
			for _, o := range operations(t) {
				if o.public {
					continue
				}
				path := o.paths(t, []string{nobodysID}, []string{nobodysSum})[0]
				for _, what := range slices.Sorted(maps.Keys(m.wrong)) {
					got := m.send(t, o.method, "", path, o.request(nobodysSum), m.wrong[what]...)
					refused := got.code == http.StatusUnauthorized && got.header.Get("WWW-Authenticate") != ""
					if ofNoTask := o.ofPods && got.code == http.StatusForbidden; !refused && !ofNoTask {
						t.Errorf("%s %s with %s: %d %s", o.method, path, what, got.code, got.body)
					}
				}
			}
		})
	}
}

func bearer(token string) []string { return []string{"Authorization", "Bearer " + token} }

// spoofs returns credentials for other authentication methods, which must not work.
func spoofs(more map[string][]string) map[string][]string {
	all := map[string][]string{
		"nothing":               nil,
		"names of other kinds":  {"X-Forwarded-User", "root", "X-Remote-User", "root", "Remote-User", "root", "X-Auth-Request-User", "root", "X_User", "root"},
		"a name and a password": {"Authorization", "Basic cm9vdDpyb290"},
		"a cookie":              {"Cookie", "X-User=root; token=root"},
		"an empty token":        {"Authorization", "Bearer"},
	}
	maps.Copy(all, more)
	return all
}

func byHeader(t *testing.T) mode {
	s := start(t, "--trusted-proxies", "127.0.0.0/8", "--admins", "root,group:ops")
	return mode{s, "ann", []string{"X-User", "ann"}, spoofs(map[string][]string{
		"an empty name": {"X-User", " "}, "groups alone": {"X-Groups", "ops"}, "a name that is too long": {"X-User", strings.Repeat("x", 254)},
	})}
}

func aroundProxy(t *testing.T) mode {
	s := start(t, "--trusted-proxies", "10.0.0.0/8,::1", "--admins", "root,group:ops")
	return mode{s, "", nil, spoofs(map[string][]string{
		"a name":                       {"X-User", "ann"},
		"an administrator":             {"X-User", "root", "X-Groups", "ops"},
		"the address of a proxy":       {"X-User", "ann", "X-Forwarded-For", "10.0.0.1", "X-Real-IP", "10.0.0.1", "Forwarded", "for=10.0.0.1", "True-Client-IP", "10.0.0.1"},
		"a chain that ends at a proxy": {"X-User", "ann", "X-Forwarded-For", "127.0.0.1, 10.0.0.1", "Via", "1.1 10.0.0.1"},
	})}
}

func byToken(t *testing.T) mode {
	text := fmt.Sprintf("%x ann until=2999-01-01T00:00:00Z\n%x ann until=2020-01-01T00:00:00Z\n", sha256.Sum256([]byte("anns")), sha256.Sum256([]byte("former")))
	s := start(t, "--auth", "token", "--tokens-file", file(t, "tokens", text), "--admins", "root")
	return mode{s, "ann", bearer("anns"), spoofs(map[string][]string{
		"a name": {"X-User", "ann"}, "a wrong token": bearer("annz"), "an expired one": bearer("former"), "its hash": bearer(fmt.Sprintf("%x", sha256.Sum256([]byte("anns")))),
	})}
}

func byReview(t *testing.T) mode {
	c := join(t)
	right, withdrawn, others := c.token(t, "ann", "k8s-cli"), c.token(t, "former", "k8s-cli"), c.token(t, "ann", "grafana")
	must.Succeed(t, c.CoreV1().ServiceAccounts(c.namespace).Delete(t.Context(), "former", metav1.DeleteOptions{}))
	s := c.serve(t, "--auth", "tokenreview", "--token-audience", "k8s-cli", "--admins", "root")
	return mode{s, "system:serviceaccount:" + c.namespace + ":ann", bearer(right), spoofs(map[string][]string{
		"a name": {"X-User", "ann"}, "no token of Kubernetes": bearer("x"), "one for another audience": bearer(others),
		"one of an account that is gone": bearer(withdrawn), "one that was changed": bearer(right[:len(right)-6] + "AAAAAA"),
	})}
}

func byIssuer(t *testing.T) mode {
	i, stranger := issuer.New("k8s-cli", issuer.NewKey("first", "EdDSA")), issuer.NewKey("first", "EdDSA")
	t.Cleanup(i.Close)
	s := start(t, "--auth", "oidc", "--oidc-issuer", i.URL, "--oidc-client-id", i.ClientID, "--oidc-user-claim", "sub", "--admins", "root")
	with := func(claim string, value any) []string { return bearer(i.Token(map[string]any{claim: value})) }
	return mode{s, "ann", bearer(i.Token(nil)), spoofs(map[string][]string{
		"a name": {"X-User", "ann"}, "no token of the issuer": bearer("x"), "one that has expired": with("exp", time.Now().Add(-time.Minute).Unix()),
		"one that is not valid yet": with("nbf", time.Now().Add(time.Hour).Unix()), "one for another audience": with("aud", "grafana"),
		"one of another issuer": with("iss", "https://elsewhere.example"), "one that another key signed": bearer(stranger.Token(i.Claims(nil))),
		"one that nobody signed": bearer(issuer.Sign(map[string]any{"alg": "none"}, i.Claims(nil), func([]byte) []byte { return nil })),
	})}
}
