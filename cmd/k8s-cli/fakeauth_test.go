package main

import (
	"context"
	"crypto"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"

	"k8s-cli/pkg/task"
)

// doors adds servers that require authentication. The server at /door/token accepts the
// token "right". The servers at /door/review and /door/audience request tokens
// of Kubernetes. The server at /door/oidc-REALM has a realm of the fake issuer.
func (f *fakeServer) doors() {
	f.HandleFunc("GET /door/{by}/auth", func(w http.ResponseWriter, r *http.Request) {
		l := task.Login{By: r.PathValue("by")}
		kind, isOIDC := strings.CutPrefix(l.By, "oidc-")
		switch {
		case l.By == "review":
			l.By = "tokenreview"
		case l.By == "audience":
			l.By, l.Audience = "tokenreview", "$(reboot)"
		case kind == "foreign":
			l.By, l.Issuer, l.ClientID = "oidc", "http://id.example", hostile
		case isOIDC:
			l.By, l.Issuer, l.ClientID = "oidc", f.issuer.URL+"/"+kind, f.issuer.ClientID
		}
		say(w, http.StatusOK, l)
	})
	f.HandleFunc("GET /door/{by}/whoami", func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if r.Header.Get("X-User") != "" || token != "right" && !f.issued(r.Context(), token) {
			say(w, http.StatusUnauthorized, task.Detail{Detail: "Authorization: the token was rejected"})
			return
		}
		who := task.Whoami{User: "ann@example.com", Groups: []string{"ops"}, By: r.PathValue("by"), Admin: true}
		who.Limits, who.Usage = task.UserLimits{Active: 10, SubmitRate: 0.5, SubmitBurst: 5}, task.Usage{Active: 3}
		say(w, http.StatusOK, who)
	})
}

func say(w http.ResponseWriter, code int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(body)
}

// issued reports whether the issuer issued a token.
func (f *fakeServer) issued(ctx context.Context, token string) bool {
	_, err := oidc.NewVerifier("", &oidc.StaticKeySet{PublicKeys: []crypto.PublicKey{f.issuer.Key().Public()}}, &oidc.Config{
		ClientID: f.issuer.ClientID, SupportedSigningAlgs: []string{oidc.ES256}, SkipIssuerCheck: true, SkipExpiryCheck: true,
	}).Verify(ctx, token)
	return err == nil
}
