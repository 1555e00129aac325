// Package issuer contains an OpenID Connect issuer for tests. It logs in every user at once, with
// the authorization code flow with PKCE and with the device flow, and signs any token.
package issuer

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"time"
)

// An Endpoint names what an issuer sends, for a Behavior.
type Endpoint string

// The endpoints of an issuer.
const (
	Discovery Endpoint = "discovery"
	Device    Endpoint = "device"
	Authorize Endpoint = "authorize" // the query with which the browser returns to the client; the values are strings
	IDToken   Endpoint = "id token"  // the claims
)

// A Behavior changes what an issuer does. The zero Behavior changes nothing. Handlers find the
// realm in r.PathValue("realm").
type Behavior struct {
	Before func(w http.ResponseWriter, r *http.Request) bool           // answers in place of the issuer if it returns true
	Edit   func(r *http.Request, at Endpoint, response map[string]any) // changes a response before it is sent
}

// An Issuer is an issuer with a listener of its own. Below the URL of the server, each first
// element of a path is a realm: URL/realm is the URL of an issuer with the same keys.
type Issuer struct {
	*httptest.Server
	ClientID string

	mu       sync.Mutex
	keys     []Key
	behavior Behavior
	logins   map[string]url.Values // parameters of each authorization request, by code
	grants   []string
	revoked  []string
	lookups  int
}

// New starts an issuer for one client. The first key signs the tokens that the issuer issues.
func New(clientID string, keys ...Key) *Issuer {
	i := &Issuer{ClientID: clientID, keys: keys, logins: map[string]url.Values{}}
	mux := http.NewServeMux()
	for pattern, handle := range map[string]http.HandlerFunc{
		"GET ?/.well-known/openid-configuration": i.discovery,
		"GET ?/keys":                             i.serveKeys,
		"GET ?/authorize":                        i.authorize,
		"POST ?/device":                          i.device,
		"POST ?/token":                           i.token,
		"POST ?/revoke":                          i.revoke,
	} {
		for _, realm := range []string{"", "/{realm}"} {
			mux.HandleFunc(strings.Replace(pattern, "?", realm, 1), func(w http.ResponseWriter, r *http.Request) {
				if b := i.begin(r); b.Before == nil || !b.Before(w, r) {
					handle(w, r)
				}
			})
		}
	}
	i.Server = httptest.NewServer(mux)
	return i
}

// SetBehavior changes the behavior from the next request on.
func (i *Issuer) SetBehavior(b Behavior) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.behavior = b
}

// begin counts a request and returns the behavior.
func (i *Issuer) begin(r *http.Request) Behavior {
	i.mu.Lock()
	defer i.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/keys") {
		i.lookups++
	}
	return i.behavior
}

// SetKeys replaces the keys.
func (i *Issuer) SetKeys(keys ...Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = keys
}

// Key returns the key that signs the tokens.
func (i *Issuer) Key() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// Lookups returns how often the keys were requested, also from a Behavior that answered.
func (i *Issuer) Lookups() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.lookups
}

// Grants returns the grant types of all token requests, separated by spaces.
func (i *Issuer) Grants() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.grants, " ")
}

// Revoked returns the revoked tokens, separated by spaces.
func (i *Issuer) Revoked() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return strings.Join(i.revoked, " ")
}

// Claims returns the claims of a valid token of the user ann, overwritten by more. A nil value
// removes a claim.
func (i *Issuer) Claims(more map[string]any) map[string]any {
	now := time.Now()
	all := map[string]any{"iss": i.URL, "aud": i.ClientID, "sub": "ann", "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	maps.Copy(all, more)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

// Token returns a token with the claims that Claims returns.
func (i *Issuer) Token(claims map[string]any) string { return i.Key().Token(i.Claims(claims)) }

// urlOf returns the URL of the realm of a request.
func (i *Issuer) urlOf(r *http.Request) string {
	if realm := r.PathValue("realm"); realm != "" {
		return i.URL + "/" + realm
	}
	return i.URL
}

func (i *Issuer) edit(r *http.Request, at Endpoint, response map[string]any) map[string]any {
	i.mu.Lock()
	edit := i.behavior.Edit
	i.mu.Unlock()
	if edit != nil {
		edit(r, at, response)
	}
	return response
}

// Send sends a response in JSON.
func Send(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

func (i *Issuer) discovery(w http.ResponseWriter, r *http.Request) {
	at := i.urlOf(r)
	i.mu.Lock()
	algorithms := []string{}
	for _, k := range i.keys {
		algorithms = append(algorithms, k.Algorithm)
	}
	i.mu.Unlock()
	Send(w, http.StatusOK, i.edit(r, Discovery, map[string]any{
		"issuer": at, "jwks_uri": at + "/keys", "id_token_signing_alg_values_supported": algorithms,
		"authorization_endpoint": at + "/authorize", "code_challenge_methods_supported": []string{"S256"},
		"token_endpoint": at + "/token", "device_authorization_endpoint": at + "/device", "revocation_endpoint": at + "/revoke",
	}))
}

func (i *Issuer) serveKeys(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	Send(w, http.StatusOK, KeySet(i.keys...))
}

// authorize is the page at which a browser logs in. It sends the browser back at once.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil || q.Get("response_type") != "code" || q.Get("client_id") != i.ClientID || q.Get("code_challenge_method") != "S256" ||
		len(q.Get("code_challenge")) != base64.RawURLEncoding.EncodedLen(sha256.Size) || len(q["state"]) != 1 || len(q.Get("state")) < 20 || len(q.Get("nonce")) < 20 {
		http.Error(w, "this is no authorization request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	i.logins[code] = q
	i.mu.Unlock()
	result := url.Values{}
	for name, value := range i.edit(r, Authorize, map[string]any{"state": q.Get("state"), "code": code, "iss": i.urlOf(r)}) {
		result.Set(name, value.(string))
	}
	back.RawQuery = result.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (i *Issuer) device(w http.ResponseWriter, r *http.Request) {
	Send(w, http.StatusOK, i.edit(r, Device, map[string]any{
		"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://id.example/device", "interval": 1, "expires_in": 600,
	}))
}

// token is the token endpoint. A code is valid once, with the verifier of its login.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	grant := r.FormValue("grant_type")
	i.mu.Lock()
	i.grants = append(i.grants, grant)
	login := i.logins[r.FormValue("code")]
	delete(i.logins, r.FormValue("code"))
	i.mu.Unlock()
	claims := map[string]any{"iss": i.urlOf(r)}
	if grant == "authorization_code" {
		basic, _, _ := r.BasicAuth()
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		if login == nil || cmp.Or(r.FormValue("client_id"), basic) != i.ClientID || r.FormValue("redirect_uri") != login.Get("redirect_uri") ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != login.Get("code_challenge") {
			Send(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
			return
		}
		claims["nonce"] = login.Get("nonce")
	}
	token := i.Key().Token(i.edit(r, IDToken, i.Claims(claims)))
	Send(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "bearer", "id_token": token, "refresh_token": "again"})
}

func (i *Issuer) revoke(_ http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revoked = append(i.revoked, r.FormValue("token")+" of "+r.FormValue("client_id")+", a "+r.FormValue("token_type_hint"))
}
