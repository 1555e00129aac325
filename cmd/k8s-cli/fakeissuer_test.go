package main

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"k8s-cli/test/testkit/issuer"
)

const hostile = "\x1b]0;owned\x07\u009b31m\u202egpj.\u200b"

// newFakeIssuer returns an issuer whose realms misbehave in one way each:
//
//	device, code   supports only this flow
//	no-pkce        supports both flows, but not S256
//	nonce          returns ID tokens with another nonce
//	audience       returns ID tokens for another client
//	denied         rejects the login, with characters that control a terminal
//	mixed-up       names another issuer in its response
//	moved, token-moved   redirects to elsewhere
//	phishing       asks for the code on a page over plain HTTP
//	plain          has a token endpoint over plain HTTP
//	file           has a login page that is the name of a file
//	impatient      requests a polling interval of -1 seconds
//	escapes        returns texts with characters that control a terminal
//	broken         returns an error page with such characters
//	no-revocation  has no revocation endpoint
//	stubborn       refuses to revoke a token
//	plain-revocation  has a revocation endpoint over plain HTTP
func newFakeIssuer(elsewhere string) *issuer.Issuer {
	i := issuer.New("cli", issuer.NewKey("k", "ES256"))
	i.SetBehavior(issuer.Behavior{
		Before: func(w http.ResponseWriter, r *http.Request) bool { return refuses(w, r, elsewhere) },
		Edit:   misbehave,
	})
	return i
}

// refuses answers the requests that a realm does not answer as an issuer does.
func refuses(w http.ResponseWriter, r *http.Request, elsewhere string) bool {
	realm := r.PathValue("realm")
	switch realm + strings.TrimPrefix(r.URL.Path, "/"+realm) {
	case "moved/.well-known/openid-configuration":
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusFound)
	case "broken/.well-known/openid-configuration":
		http.Error(w, strings.Repeat(hostile, 1000), http.StatusInternalServerError)
	case "token-moved/token":
		http.Redirect(w, r, elsewhere+r.URL.Path, http.StatusTemporaryRedirect)
	case "escapes/token":
		issuer.Send(w, http.StatusBadRequest, map[string]string{"error": hostile, "error_description": hostile})
	case "stubborn/revoke":
		http.Error(w, hostile, http.StatusServiceUnavailable)
	default:
		back, err := url.Parse(r.FormValue("redirect_uri"))
		if !strings.HasSuffix(r.URL.Path, "/authorize") || err == nil && back.Scheme == "http" && back.Hostname() == "127.0.0.1" {
			return false
		}
		http.Error(w, "the CLI listens on the loopback address only", http.StatusBadRequest)
	}
	return true
}

func misbehave(r *http.Request, at issuer.Endpoint, response map[string]any) {
	if at == issuer.IDToken && r.FormValue("grant_type") != "refresh_token" {
		response["exp"] = time.Now().Unix() // the CLI must renew its first token
	}
	switch string(at) + " of " + r.PathValue("realm") {
	case "discovery of device":
		delete(response, "authorization_endpoint")
	case "discovery of code":
		delete(response, "device_authorization_endpoint")
	case "discovery of no-pkce":
		response["code_challenge_methods_supported"] = []string{"plain"}
	case "discovery of no-revocation":
		delete(response, "revocation_endpoint")
	case "discovery of plain-revocation":
		response["revocation_endpoint"] = "http://id.example/revoke"
	case "discovery of plain":
		response["token_endpoint"] = "http://id.example/token"
	case "discovery of file":
		response["authorization_endpoint"] = "127.0.0.1/x.desktop"
	case "device of phishing":
		response["verification_uri_complete"] = "http://id.example/device?code=WDJB-MJHT"
	case "device of impatient":
		response["interval"] = -1
	case "device of escapes":
		response["user_code"], response["verification_uri"] = hostile, "https://id.example/\u009b\u202e"
	case "authorize of denied":
		delete(response, "code")
		response["error"], response["error_description"] = "access_denied", hostile
	case "authorize of mixed-up":
		response["iss"] = "https://id.example"
	case "id token of nonce":
		response["nonce"] = "of another login"
	case "id token of audience":
		response["aud"] = "another client"
	}
}
