package main

import (
	"context"
	"crypto/rsa"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
)

// oidcAttacks use tokens that the issuer has not signed, or not for this client.
func oidcAttacks() []attack {
	none := func([]byte) []byte { return nil }
	header := func(alg, kid string) map[string]any { return map[string]any{"alg": alg, "kid": kid} }
	root := map[string]any{"sub": "root"}
	all := []attack{
		forged("alg none", func(i *issuer) string { return i.signed(header("none", "rsa"), root, none) }),
		forged("alg None", func(i *issuer) string { return i.signed(header("None", "rsa"), root, none) }),
		forged("alg nOnE", func(i *issuer) string { return i.signed(header("nOnE", "rsa"), root, none) }),
		forged("alg none, the signature of another", func(i *issuer) string { return i.signed(header("none", "rsa"), root, i.stranger.SignText) }),
		forged("no alg", func(i *issuer) string { return i.signed(map[string]any{"kid": "rsa"}, root, none) }),
		forged("no signature", func(i *issuer) string { return i.signed(header("RS256", "rsa"), root, none) }),
		forged("HS256 by the public key", func(i *issuer) string { return i.signed(header("HS256", "rsa"), root, byHMAC(i.publicPEM())) }),
		forged("HS256 by the modulus", func(i *issuer) string {
			return i.signed(header("HS256", "rsa"), root, byHMAC(i.rsa.Public().(*rsa.PublicKey).N.Bytes()))
		}),
		forged("HS256 by nothing", func(i *issuer) string { return i.signed(header("HS256", "rsa"), root, byHMAC(nil)) }),
		forged("HS256 by the client", func(i *issuer) string { return i.signed(header("HS256", ""), root, byHMAC([]byte(audience))) }),
		forged("another key", func(i *issuer) string { return i.signed(header("RS256", "rsa"), root, i.stranger.SignText) }),
		forged("another key, unnamed", func(i *issuer) string { return i.signed(map[string]any{"alg": "RS256"}, root, i.stranger.SignText) }),
		forged("a key that nobody has", func(i *issuer) string { return i.signed(header("RS256", "strange"), root, i.stranger.SignText) }),
		forged("jwk", func(i *issuer) string {
			return i.signed(map[string]any{"alg": "RS256", "kid": "strange", "jwk": i.stranger.JWK()}, root, i.stranger.SignText)
		}),
		forged("jku", func(i *issuer) string {
			return i.signed(map[string]any{"alg": "RS256", "kid": "strange", "jku": i.URL + "/strange/keys"}, root, i.stranger.SignText)
		}),
		forged("x5u", func(i *issuer) string {
			return i.signed(map[string]any{"alg": "RS256", "kid": "strange", "x5u": i.URL + "/strange/keys"}, root, i.stranger.SignText)
		}),
		forged("crit", func(i *issuer) string {
			return i.signed(map[string]any{"alg": "RS256", "kid": "rsa", "crit": []string{"exp"}}, root, i.rsa.SignText)
		}),
		forged("b64", func(i *issuer) string {
			return i.signed(map[string]any{"alg": "RS256", "kid": "rsa", "b64": false, "crit": []string{"b64"}}, root, i.rsa.SignText)
		}),
		forged("ES256 of zeros", func(i *issuer) string {
			return i.signed(header("ES256", "ec"), root, func([]byte) []byte { return make([]byte, 64) })
		}),
		forged("ES256 by the RSA key", func(i *issuer) string { return i.signed(header("ES256", "ec"), root, i.rsa.SignText) }),
		forged("RS256 by the EC key", func(i *issuer) string { return i.signed(header("RS256", "ec"), root, i.ec.SignText) }),
		forged("another payload", func(i *issuer) string {
			parts := strings.Split(i.token(nil), ".")
			return parts[0] + "." + strings.Split(i.token(root), ".")[1] + "." + parts[2]
		}),
		forged("two parts", func(i *issuer) string { return strings.Join(strings.Split(i.token(root), ".")[:2], ".") }),
		forged("four parts", func(i *issuer) string { return i.token(root) + ".x" }),
		forged("JSON serialization", func(i *issuer) string {
			p := strings.Split(i.token(root), ".")
			return fmt.Sprintf(`{"protected":%q,"payload":%q,"signature":%q}`, p[0], p[1], p[2][:20])
		}),
		forged("a payload that is no JSON", func(i *issuer) string {
			text := strings.Split(i.token(nil), ".")[0] + "." + base64.RawURLEncoding.EncodeToString([]byte("root"))
			return text + "." + base64.RawURLEncoding.EncodeToString(i.rsa.SignText([]byte(text)))
		}),
	}
	for _, kid := range []string{"../strange", "/dev/null", "rsa' or 1=1", "http://evil.example/keys", "rsa\x00", strings.Repeat("k", 4000)} {
		all = append(all, forged("kid: "+brief(kid[:min(len(kid), 30)]), func(i *issuer) string { return i.signed(header("RS256", kid), root, i.stranger.SignText) }))
	}
	return append(append(all, claimedAttacks()...), emailAttacks()...)
}

// claimedAttacks use tokens of the issuer with invalid claims.
func claimedAttacks() (all []attack) {
	past, soon := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	for name, claims := range byName(map[string]map[string]any{
		"another audience": {"aud": "grafana"}, "other audiences": {"aud": []string{"grafana", "k8s"}}, "no audience": {"aud": nil}, "an empty audience": {"aud": ""}, "the audience's beginning": {"aud": "k8s"}, "the audience in another case": {"aud": "K8S-CLI"},
		"another issuer": {"iss": "https://evil.example"}, "no issuer": {"iss": nil}, "the issuer with a slash": {"iss": "{issuer}/"}, "the issuer's beginning": {"iss": "http://127.0.0.1"},
		"expired": {"exp": past}, "no expiry": {"exp": nil}, "an expiry of 0": {"exp": 0}, "an expiry below 0": {"exp": -1}, "an expiry in words": {"exp": "tomorrow"}, "an expiry beyond time": {"exp": "99999999999999999999"},
		"not yet valid": {"nbf": soon}, "no user": {"sub": nil}, "an empty user": {"sub": ""}, "a blank user": {"sub": "  "}, "a user that is a number": {"sub": 7}, "a user that is a list": {"sub": []string{"ann"}}, "a user with a line end": {"sub": "ann\nroot"},
		"a user with NUL": {"sub": "ann\x00"}, "a user with a zero-width blank": {"sub": "ann\u200b"}, "a user from right to left": {"sub": "\u202eann"}, "a user with a no-break blank": {"sub": "\u00a0ann"}, "a user of 300 bytes": {"sub": strings.Repeat("a", 300)},
		"groups that are a mapping": {"groups": map[string]any{"ops": true}},
	}) {
		all = append(all, forged("claims: "+name, func(i *issuer) string {
			if iss, ok := claims["iss"].(string); ok {
				claims = map[string]any{"iss": strings.Replace(iss, "{issuer}", i.URL, 1)}
			}
			return i.token(claims)
		}))
	}
	for name, claims := range byName(map[string]map[string]any{
		"a group with its prefix": {"groups": []string{"group:ops"}}, "groups in one text": {"groups": "dev,ops"}, "roles": {"roles": []string{"ops"}}, "a group in capitals": {"groups": []string{"OPS"}}, "a claim called admin": {"admin": true},
		"a group with a blank": {"groups": []string{"ops "}}, "a user who is called so": {"sub": "group:ops"}, "a user in capitals": {"sub": "ROOT"}, "an e-mail": {"email": "root"}, "a preferred name": {"preferred_username": "root"},
	}) {
		all = append(all, shown("no administrator: "+name, byOIDC, claims, want{"200 with admin false, or 401", func(a answer) bool {
			return a.code == 401 || a.code == 200 && strings.Contains(string(a.body), `"admin":false`)
		}}))
	}
	return append(all,
		control(shown("a token", byOIDC, nil, showing(works, `"user":"ann"`))),
		control(shown("an administrator", byOIDC, map[string]any{"sub": "root"}, showing(works, `"admin":true`))),
		control(shown("a group of administrators", byOIDC, map[string]any{"groups": []string{"ops"}}, showing(works, `"admin":true`))),
		control(attack{name: "a token by the EC key", want: works.text, try: func(ctx context.Context, w *environment) result {
			return show(ctx, w, byOIDC, w.issuer.signed(map[string]any{"alg": "ES256", "kid": "ec"}, nil, w.issuer.ec.SignText), works)
		}}),
		scene("keys that nobody has", "a few questions to the issuer for a hundred tokens", unknownKeys),
	)
}

// emailAttacks attack a server whose users are e-mail addresses.
func emailAttacks() []attack {
	const root = "root@example.com"
	noAdmin := want{"401, or 200 with admin false", func(a answer) bool {
		return a.code == 401 || a.code == 200 && strings.Contains(string(a.body), `"admin":false`)
	}}
	// The server trims or rejects spaces around a name, as in a header. So no two users have
	// names that look equal.
	trimmed := want{"401, or the name without the blanks", func(a answer) bool {
		return a.code == 401 || a.code == 200 && strings.Contains(string(a.body), `"user":"ann@example.com"`)
	}}
	return []attack{
		shown("e-mail: an administrator's, not said to be verified", byEmail, map[string]any{"email": root}, noAdmin),
		shown("e-mail: an administrator's, verified being null", byEmail, map[string]any{"email": root, "email_verified": rawNull{}}, noAdmin),
		shown("e-mail: not verified", byEmail, map[string]any{"email": root, "email_verified": false}, unauthorized),
		shown("e-mail: verified in words", byEmail, map[string]any{"email": root, "email_verified": "false"}, unauthorized),
		shown("e-mail: verified being 0", byEmail, map[string]any{"email": root, "email_verified": 0}, unauthorized),
		shown("e-mail: none", byEmail, map[string]any{"sub": root}, unauthorized),
		shown("e-mail: a list", byEmail, map[string]any{"email": []string{root}, "email_verified": true}, unauthorized),
		shown("e-mail: an administrator's with a blank in front", byEmail, map[string]any{"email": " " + root}, noAdmin),
		shown("e-mail: a blank in front", byEmail, map[string]any{"email": " ann@example.com", "email_verified": true}, trimmed),
		shown("e-mail: a blank behind", byEmail, map[string]any{"email": "ann@example.com ", "email_verified": true}, trimmed),
		shown("e-mail: a tab in front", byEmail, map[string]any{"email": "\tann@example.com", "email_verified": true}, trimmed),
		shown("e-mail: a no-break blank in front", byEmail, map[string]any{"email": "\u00a0ann@example.com", "email_verified": true}, unauthorized),
		shown("e-mail: in capitals", byEmail, map[string]any{"email": "ROOT@example.com", "email_verified": true}, noAdmin),
		shown("e-mail: a Cyrillic letter", byEmail, map[string]any{"email": "r\u043eot@example.com", "email_verified": true}, noAdmin),
		control(shown("e-mail: a verified one", byEmail, map[string]any{"email": "ann@example.com", "email_verified": true}, showing(works, `"user":"ann@example.com"`))),
		control(shown("e-mail: a verified administrator", byEmail, map[string]any{"email": root, "email_verified": true}, showing(works, `"admin":true`))),
	}
}

// rawNull is a claim with the value null.
type rawNull struct{}

// MarshalJSON returns null.
func (rawNull) MarshalJSON() ([]byte, error) { return []byte("null"), nil } //nolint:unparam // json.Marshaler has it so

// forged is an attack with a token that the server must reject.
func forged(name string, token func(*issuer) string) attack {
	return attack{name: name, want: unauthorized.text, try: func(ctx context.Context, w *environment) result {
		return show(ctx, w, byOIDC, token(w.issuer), codes(401, 431))
	}}
}

// shown is an attack with a token of the issuer that has these claims.
func shown(name string, at mode, claims map[string]any, right want) attack {
	return attack{name: name, want: right.text, try: func(ctx context.Context, w *environment) result {
		return show(ctx, w, at, w.issuer.token(claims), right)
	}}
}

func show(ctx context.Context, w *environment, at mode, token string, right want) result {
	s, err := w.serve(ctx, at)
	if err != nil {
		return result{got: err.Error()}
	}
	a := s.exchange(ctx, "GET /whoami HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	return result{sent: "Authorization: Bearer " + token, got: a.String(), held: right.holds(a)}
}

// unknownKeys uses tokens of a hundred keys that the issuer does not have.
func unknownKeys(ctx context.Context, w *environment) error {
	s, err := w.serve(ctx, byOIDC)
	if err != nil {
		return err
	}
	const tokens = 100
	before, began := w.issuer.Lookups(), time.Now()
	for n := range tokens {
		token := w.issuer.signed(map[string]any{"alg": "RS256", "kid": fmt.Sprint("made-up-", n)}, nil, w.issuer.stranger.SignText)
		if a := s.send(ctx, request{method: "GET", path: "/whoami", header: []string{"Authorization", "Bearer " + token}}); a.code != 401 && a.code != 429 && a.code != 503 {
			return fmt.Errorf("a token of an unknown key: %s", a)
		}
	}
	// The server may request the issuer's keys once a second.
	if asked := w.issuer.Lookups() - before; asked > 3+int(time.Since(began)/time.Second) {
		return fmt.Errorf("%d questions to the issuer for %d tokens", asked, tokens)
	}
	return nil
}
