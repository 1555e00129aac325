package features

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// ofPage lists the headers of a request that a page of the dashboard makes with a cookie.
func ofPage(cookie string) []string {
	return []string{"Cookie", cookie, "X-Session-Key", sessionKey(cookie), "X-Requested-With", "k8s-cli-ui", "Sec-Fetch-Site", "same-origin", "Content-Type", "application/json"}
}

// sessionKeys holds the keys of sessions by their cookies.
var sessionKeys sync.Map

func sessionKey(cookie string) string {
	key, _ := sessionKeys.Load(cookie)
	text, _ := key.(string)
	return text
}

// logIn returns the cookie of a new session.
func (s *server) logIn(t *testing.T, user string) string {
	t.Helper()
	got := s.post(t, "", "/session", fmt.Sprintf(`{"user":%q}`, user), ofPage("")...)
	cookie, _, _ := strings.Cut(got.header.Get("Set-Cookie"), ";")
	if got.code != http.StatusOK || cookie == "" {
		t.Fatalf("log in: %d %s", got.code, got.body)
	}
	var begun struct {
		Key string `json:"session_key"`
	}
	must.Succeed(t, json.Unmarshal(got.body, &begun))
	sessionKeys.Store(cookie, begun.Key)
	return cookie
}

// follow opens the stream of all events of a session. ended is closed when the stream ends.
func (s *server) follow(t *testing.T, cookie string) (ended <-chan struct{}) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/events", nil)
	must.Succeed(t, err)
	for name, value := range map[string]string{"Cookie": cookie, "X-Session-Key": sessionKey(cookie), "Accept": "text/event-stream", "Sec-Fetch-Site": "same-origin"} {
		r.Header.Set(name, value)
	}
	response, err := (&http.Client{}).Do(r)
	must.Succeed(t, err)
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || !strings.HasPrefix(kind, "text/event-stream") {
		t.Fatalf("GET /events: %s, %s", response.Status, kind)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer response.Body.Close()
		_, _ = io.Copy(io.Discard, response.Body)
	}()
	return over
}

// A session that began at one server works at every server. Its end at one server ends it and
// its streams at every server, and no other session.
func TestSessionsEndAtEveryServer(t *testing.T) {
	t.Parallel()
	a, b := startTwo(t)
	wantUser := func(cookie, user string) {
		t.Helper()
		for name, s := range map[string]*server{"a": a, "b": b} {
			got := s.get(t, "", "/whoami", ofPage(cookie)...)
			if user == "" {
				got.wants(t, http.StatusUnauthorized, "the session has ended; log in again")
			} else if got.code != http.StatusOK || !strings.Contains(string(got.body), fmt.Sprintf(`"user":%q`, user)) {
				t.Errorf("server %s: %d %s, want %s", name, got.code, got.body, user)
			}
		}
	}
	ann, bob := a.logIn(t, "ann"), b.logIn(t, "bob")
	wantUser(ann, "ann")
	wantUser(bob, "bob")
	anns, bobs := b.follow(t, ann), a.follow(t, bob)

	began := time.Now()
	if got := a.send(t, http.MethodDelete, "", "/session", nil, ofPage(ann)...); got.code != http.StatusOK {
		t.Fatalf("log out: %d %s", got.code, got.body)
	}
	testkit.Wait(t, patience, "the end of the stream at the other server", anns)
	t.Logf("the stream at the other server ended %s after the start of the logout", time.Since(began).Round(time.Millisecond))
	wantUser(ann, "")
	wantUser(bob, "bob")
	if testkit.Closed(bobs) {
		t.Error("the stream of another session ended")
	}

	second := a.logIn(t, "bob")
	if got := b.send(t, http.MethodDelete, "", "/session?all=true", nil, ofPage(second)...); got.code != http.StatusOK {
		t.Fatalf("log out everywhere: %d %s", got.code, got.body)
	}
	testkit.Wait(t, patience, "the end of the stream of the first session", bobs)
	wantUser(bob, "")
	wantUser(second, "")
	wantUser(a.logIn(t, "bob"), "bob")
}
