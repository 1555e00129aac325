package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"k8s-cli/pkg/task"
)

// doors adds servers below the fake one that want proof: below /door/token one that
// knows the token "right", below /door/review one that takes what Kubernetes would,
// and below /door/oidc one whose issuer is below /issuer.
func (f *fakeServer) doors() {
	say := func(w http.ResponseWriter, code int, body any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(body)
	}
	f.HandleFunc("GET /door/{by}/auth", func(w http.ResponseWriter, r *http.Request) {
		l := task.Login{By: r.PathValue("by")}
		if l.By == "review" {
			l.By = "tokenreview"
		}
		if l.By == "oidc" {
			l.Issuer, l.ClientID = "http://"+r.Host+"/issuer", "cli"
		}
		say(w, http.StatusOK, l)
	})
	f.HandleFunc("GET /door/{by}/whoami", func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if r.Header.Get("X-User") != "" || token != "right" && !strings.HasPrefix(token, "h.") {
			say(w, http.StatusUnauthorized, task.Detail{Detail: "Authorization: the token is not taken"})
			return
		}
		who := task.Whoami{User: "ann@example.com", Groups: []string{"ops"}, By: r.PathValue("by"), Admin: true}
		who.Limits, who.Usage = task.UserLimits{Active: 10, SubmitRate: 0.5, SubmitBurst: 5}, task.Usage{Active: 3}
		say(w, http.StatusOK, who)
	})
	f.HandleFunc("GET /issuer/.well-known/openid-configuration", func(w http.ResponseWriter, r *http.Request) {
		url := "http://" + r.Host + "/issuer"
		say(w, http.StatusOK, map[string]string{"issuer": url, "token_endpoint": url + "/token", "device_authorization_endpoint": url + "/device"})
	})
	f.HandleFunc("POST /issuer/device", func(w http.ResponseWriter, _ *http.Request) {
		say(w, http.StatusOK, map[string]any{"device_code": "d", "user_code": "WDJB-MJHT", "verification_uri": "https://id.example/device", "interval": 1, "expires_in": 60})
	})
	f.HandleFunc("POST /issuer/token", func(w http.ResponseWriter, r *http.Request) {
		// The first token has ended by the time it is used, so it has to be renewed.
		end := time.Now()
		if r.FormValue("refresh_token") == "again" {
			end = end.Add(time.Hour)
		}
		id := "h." + base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, end.Unix())) + ".s"
		f.mu.Lock()
		f.log = append(f.log, r.FormValue("grant_type"))
		f.mu.Unlock()
		say(w, http.StatusOK, map[string]any{"access_token": "a", "token_type": "bearer", "id_token": id, "refresh_token": "again"})
	})
}
