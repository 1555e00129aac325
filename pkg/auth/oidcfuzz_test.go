package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	testissuer "k8s-cli/test/testkit/issuer"
	"k8s-cli/test/testkit/must"
)

// The ways in which the fuzz test signs a token.
const (
	byIssuer  = iota // with the key of the issuer
	byAnother        // with another key
	byNobody         // without a signature
	byItsKey         // by HMAC with the public key of the issuer
	notItsOwn        // with the signature of another token
	ways             // number of ways
)

// FuzzOIDC checks that a token is accepted if and only if the issuer signed it for this
// audience, it is valid now, and its user name is valid. A change of one byte must not
// result in another user.
func FuzzOIDC(f *testing.F) {
	i := newIssuer(f)
	stranger := testissuer.NewKey("stranger", "RS256")
	public, err := x509.MarshalPKIXPublicKey(i.Key().Public())
	must.Succeed(f, err)
	issuer := i.URL
	other := i.token(map[string]any{"sub": "root", "jti": "other"})
	who := New(i.oidc(f), task.Admins{"root", "group:ops"})

	f.Add("RS256", "first", "", "k8s-cli", "ann", int64(3600), int64(0), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("RS256", "", "", "k8s-cli", "ann*.>", int64(3600), int64(-3600), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("none", "first", "", "k8s-cli", "root", int64(3600), int64(0), uint8(byNobody), uint16(0), uint8(0))
	f.Add("HS256", "first", "", "k8s-cli", "root", int64(3600), int64(0), uint8(byItsKey), uint16(0), uint8(0))
	f.Add("RS256", "../second", "", "k8s-cli", "root", int64(3600), int64(0), uint8(byAnother), uint16(0), uint8(0))
	f.Add("RS256", "first", "", "k8s-cli", "root", int64(3600), int64(0), uint8(notItsOwn), uint16(0), uint8(0))
	f.Add("RS512", "first", "", "k8s-cli", "ann", int64(3600), int64(0), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("RS256", "first", "", "grafana", "ann", int64(3600), int64(0), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("RS256", "first", "/", "k8s-cli", "ann", int64(3600), int64(0), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("RS256", "first", "", "k8s-cli", "ann", int64(-60), int64(0), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("RS256", "first", "", "k8s-cli", "ann", int64(3600), int64(3000), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("RS256", "first", "", "k8s-cli", "a\u202enn\u0000", int64(3600), int64(0), uint8(byIssuer), uint16(0), uint8(0))
	f.Add("RS256", "first", "", "k8s-cli", "ann", int64(3600), int64(0), uint8(byIssuer), uint16(40), uint8(1))
	f.Fuzz(func(t *testing.T, alg, kid, iss, aud, sub string, expires, begins int64, by uint8, at uint16, flip uint8) {
		const decade = 10 * 365 * 24 * 3600
		expires, begins = expires%decade, begins%decade
		if max(expires, -expires) < 30 || begins > 0 && max(begins-300, 300-begins) < 30 {
			return // the validity would change during the test; the library tolerates 5 minutes
		}
		claims := map[string]any{"iss": issuer + iss, "aud": aud, "sub": sub, "exp": time.Now().Unix() + expires}
		if begins != 0 {
			claims["nbf"] = time.Now().Unix() + begins
		}
		head := map[string]any{"alg": alg, "kid": kid}
		by %= ways
		token := signed(i, head, claims, by, stranger, public, other)
		sub = utf8Of(sub) // as decoded from JSON
		name, wrong := task.UserName(sub)
		good := by == byIssuer && alg == "RS256" && (kid == "" || utf8Of(kid) == "first") && iss == "" && utf8Of(aud) == "k8s-cli" &&
			expires > 0 && begins < 300 && wrong == nil && len(token) <= maxTokenBytes
		changed := []byte(token)
		changed[int(at)%len(changed)] ^= flip
		got, err := who.Identify(t.Context(), task.Credentials{Token: string(changed), User: "root", Groups: "ops"})
		switch {
		case errors.Is(err, problem.Unavailable):
			return // too many concurrent lookups
		case err == nil && (!good || got.User != name || got.Admin != (name == "root")):
			t.Errorf("%s is taken for %+v", changed, got)
		case err != nil && good && flip == 0:
			t.Errorf("%s is refused: %v", changed, err)
		}
	})
}

func signed(i *issuer, head, claims map[string]any, by uint8, stranger testissuer.Key, public []byte, other string) string {
	token := i.sign(head, claims)
	if by == byIssuer {
		return token
	}
	text := token[:strings.LastIndexByte(token, '.')+1]
	switch by {
	case byAnother:
		return testissuer.Sign(head, claims, stranger.SignText)
	case byItsKey:
		mac := hmac.New(sha256.New, public)
		mac.Write([]byte(strings.TrimSuffix(text, ".")))
		return text + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
	case notItsOwn:
		return text + other[strings.LastIndexByte(other, '.')+1:]
	}
	return text
}

// utf8Of returns a text after a round trip through JSON.
func utf8Of(text string) (s string) {
	raw, _ := json.Marshal(text)
	_ = json.Unmarshal(raw, &s)
	return s
}
