package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
)

// A fakeIssuer is an OpenID Connect issuer that logs in every user at once, with the
// device flow and with the authorization code flow with PKCE. The issuer at /issuer/KIND
// misbehaves in one way:
//
//	device, code   supports only this flow
//	no-pkce        supports both flows, but not S256
//	nonce          returns ID tokens with another nonce
//	audience       returns ID tokens for another client
//	denied         rejects the login, with characters that control a terminal
//	mixed-up       names another issuer in its response
//	moved, token-moved   redirects to another host
//	phishing       asks for the code on a page over plain HTTP
//	plain          has a token endpoint over plain HTTP
//	file           has a login page that is the name of a file
//	impatient      requests a polling interval of -1 seconds
//	escapes        returns texts with characters that control a terminal
//	broken         returns an error page with such characters
//	no-revocation  has no revocation endpoint
//	stubborn       refuses to revoke a token
//	plain-revocation  has a revocation endpoint over plain HTTP
type fakeIssuer struct {
	key       *ecdsa.PrivateKey
	keys      *oidctest.Server
	verifier  *oidc.IDTokenVerifier
	elsewhere string // URL to which the issuer redirects

	mu     sync.Mutex
	logins map[string]url.Values // the parameters of each login, by code
	grants []string              // requested grant types
	ended  []string              // revoked tokens
}

func newFakeIssuer() *fakeIssuer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	return &fakeIssuer{
		key:    key,
		keys:   &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}},
		logins: map[string]url.Values{},
		verifier: oidc.NewVerifier("", &oidc.StaticKeySet{PublicKeys: []crypto.PublicKey{key.Public()}}, &oidc.Config{
			ClientID: "cli", SupportedSigningAlgs: []string{oidc.ES256}, SkipIssuerCheck: true, SkipExpiryCheck: true,
		}),
	}
}

const hostile = "\x1b]0;owned\x07\u009b31m\u202egpj.\u200b"

func (i *fakeIssuer) serve(mux *http.ServeMux) {
	mux.HandleFunc("GET /issuer/{kind}/.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /issuer/{kind}/keys", func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = "/keys"
		i.keys.ServeHTTP(w, r)
	})
	mux.HandleFunc("POST /issuer/{kind}/device", i.device)
	mux.HandleFunc("GET /issuer/{kind}/authorize", i.authorize)
	mux.HandleFunc("POST /issuer/{kind}/token", i.token)
	mux.HandleFunc("POST /issuer/{kind}/revoke", i.revoke)
}

func (i *fakeIssuer) discovery(w http.ResponseWriter, r *http.Request) {
	kind := r.PathValue("kind")
	at := issuerURL(r, kind)
	says := map[string]any{
		"issuer": at, "token_endpoint": at + "/token", "jwks_uri": at + "/keys", "id_token_signing_alg_values_supported": []string{oidc.ES256},
		"authorization_endpoint": at + "/authorize", "device_authorization_endpoint": at + "/device", "code_challenge_methods_supported": []string{"S256"},
		"revocation_endpoint": at + "/revoke",
	}
	switch kind {
	case "device":
		delete(says, "authorization_endpoint")
	case "code":
		delete(says, "device_authorization_endpoint")
	case "no-pkce":
		says["code_challenge_methods_supported"] = []string{"plain"}
	case "no-revocation":
		delete(says, "revocation_endpoint")
	case "plain-revocation":
		says["revocation_endpoint"] = "http://id.example/revoke"
	case "plain":
		says["token_endpoint"] = "http://id.example/token"
	case "file":
		says["authorization_endpoint"] = "127.0.0.1/x.desktop"
	case "moved":
		http.Redirect(w, r, i.elsewhere+r.URL.Path, http.StatusFound)
		return
	case "broken":
		http.Error(w, strings.Repeat(hostile, 1000), http.StatusInternalServerError)
		return
	}
	say(w, http.StatusOK, says)
}

func (i *fakeIssuer) device(w http.ResponseWriter, r *http.Request) {
	code := map[string]any{"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://id.example/device", "interval": 1, "expires_in": 600}
	switch r.PathValue("kind") {
	case "phishing":
		code["verification_uri_complete"] = "http://id.example/device?code=WDJB-MJHT"
	case "impatient":
		code["interval"] = -1
	case "escapes":
		code["user_code"], code["verification_uri"] = hostile, "https://id.example/\u009b\u202e"
	}
	say(w, http.StatusOK, code)
}

// authorize is the page on which the user logs in.
func (i *fakeIssuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || back.Scheme != "http" || back.Hostname() != "127.0.0.1" || q.Get("response_type") != "code" || q.Get("client_id") != "cli" ||
		q.Get("code_challenge_method") != "S256" || q.Get("code_challenge") == "" || q.Get("nonce") == "" || q.Get("state") == "" {
		http.Error(w, "this is no authorization request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.logins[code] = q
	i.mu.Unlock()
	answer := url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {issuerURL(r, r.PathValue("kind"))}}
	switch r.PathValue("kind") {
	case "denied":
		answer.Del("code")
		answer.Set("error", "access_denied")
		answer.Set("error_description", hostile)
	case "mixed-up":
		answer.Set("iss", "https://id.example")
	}
	back.RawQuery = answer.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (i *fakeIssuer) token(w http.ResponseWriter, r *http.Request) {
	kind := r.PathValue("kind")
	if kind == "token-moved" {
		http.Redirect(w, r, i.elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.grants = append(i.grants, r.FormValue("grant_type"))
	claims := map[string]any{"iss": issuerURL(r, kind), "sub": "ann", "aud": "cli"}
	// The first token is already expired when the CLI uses it, so that the CLI must renew
	// it.
	end := time.Now()
	switch r.FormValue("grant_type") {
	case "authorization_code":
		login := i.logins[r.FormValue("code")]
		delete(i.logins, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if login == nil || base64.RawURLEncoding.EncodeToString(sum[:]) != login.Get("code_challenge") || r.FormValue("redirect_uri") != login.Get("redirect_uri") {
			say(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant", "error_description": "whose code is this?"})
			return
		}
		claims["nonce"] = login.Get("nonce")
	case "refresh_token":
		end = end.Add(time.Hour)
	}
	switch kind {
	case "escapes":
		say(w, http.StatusBadRequest, map[string]string{"error": hostile, "error_description": hostile})
		return
	case "nonce":
		claims["nonce"] = "of another login"
	case "audience":
		claims["aud"] = "another client"
	}
	claims["exp"] = end.Unix()
	raw, _ := json.Marshal(claims)
	id := oidctest.SignIDToken(i.key, "k", oidc.ES256, string(raw))
	say(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "bearer", "id_token": id, "refresh_token": "again"})
}

func (i *fakeIssuer) granted() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.grants, " ")
}

func (i *fakeIssuer) revoke(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("kind") == "stubborn" {
		http.Error(w, hostile, http.StatusServiceUnavailable)
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ended = append(i.ended, r.FormValue("token")+" of "+r.FormValue("client_id")+", a "+r.FormValue("token_type_hint"))
}

func (i *fakeIssuer) revoked() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.ended, " ")
}
