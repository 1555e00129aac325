package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// sessionAttacks use the cookies of browsers: planted, changed, of another server, of another
// origin, and too large.
func sessionAttacks() (all []attack) {
	all = append(all,
		call("a text in the address of the login page", byHeader, request{method: "GET", path: "/ui/login?error=call-0900-123456"}, without(works, "call-0900-123456")),
		call("a text in a made-up cookie", byHeader, request{method: "GET", path: "/session", header: []string{"Cookie", "k8s-cli-login-error=call-0900-123456"}}, without(works, "call-0900-123456")),
	)
	for _, tt := range []struct {
		name   string
		method string
		path   string
		cookie func(anns, bobs string) string
		header []string
		right  want
	}{
		{"a changed byte", "GET", "/whoami", func(anns, _ string) string { return swapped(anns, 40) }, nil, unauthorized},
		{"a changed first byte", "GET", "/whoami", func(anns, _ string) string { return swapped(anns, len("k8s-cli-session=")) }, nil, unauthorized},
		{"a shorter cookie", "GET", "/whoami", func(anns, _ string) string { return anns[:len(anns)-8] }, nil, unauthorized},
		{"two sessions", "GET", "/whoami", func(anns, bobs string) string { return anns + "; " + bobs }, nil, unauthorized},
		{"one session twice", "GET", "/whoami", func(anns, _ string) string { return anns + "; " + anns }, nil, unauthorized},
		{"half of each", "GET", "/whoami", func(anns, bobs string) string { return anns[:60] + bobs[60:] }, nil, unauthorized},
		{"a huge cookie", "GET", "/whoami", func(anns, _ string) string { return anns + "; x=" + strings.Repeat("y", 64<<10) }, nil, rejected},
		{"a token as a cookie", "GET", "/whoami", func(string, string) string { return "k8s-cli-session=" + tokenOf("ann") }, nil, unauthorized},
		{"a name as a cookie", "GET", "/whoami", func(string, string) string { return "k8s-cli-session=ann" }, nil, unauthorized},
		{"the cookie of HTTPS", "GET", "/whoami", func(anns, _ string) string { return "__Host-" + anns }, nil, unauthorized},
		{"a form of another site", "POST", "/tasks/stop", own, []string{"Sec-Fetch-Site", "cross-site", "Origin", "https://evil.example"}, forbidden},
		{"a form of another port", "POST", "/tasks/stop", own, []string{"Sec-Fetch-Site", "same-site"}, forbidden},
		{"a form of an old browser", "POST", "/tasks/stop", own, []string{"Origin", "https://evil.example"}, forbidden},
		{"a script of an old browser", "POST", "/tasks/stop", own, []string{"Origin", "https://evil.example", "X-Requested-With", "k8s-cli-ui"}, forbidden},
		{"a logout by another site", "DELETE", "/session", own, []string{"Sec-Fetch-Site", "cross-site"}, forbidden},
		{aloneName, "GET", "/whoami", own, nil, unauthorized},
		{"all users", "GET", "/tasks?all_users=true", own, nil, forbidden},
	} {
		header := tt.header
		if header == nil {
			header = ofPage
		}
		all = append(all, bySession(tt.name, request{method: tt.method, path: tt.path, header: header}, tt.cookie, tt.right))
	}
	return append(all,
		scene("the session of a server that trusts names", unauthorized.text, foreignSession),
		control(bySession("its owner", request{method: "GET", path: "/whoami", header: ofPage}, own, showing(works, `"user":"ann"`))),
		control(scene("a planted session", "a session of the user who logged in", plantedSession)))
}

// ofPage are the headers of a request of a page.
var ofPage = []string{"X-Requested-With", "k8s-cli-ui", "Sec-Fetch-Site", "same-origin"}

const loginByToken = `{"token":"%s"}`

// bySession sends a request with a cookie made of the cookies of ann and bob.
func bySession(name string, r request, cookie func(anns, bobs string) string, right want) attack {
	return scene(name, right.text, func(ctx context.Context, w *environment) error {
		s, cookies, err := w.sessions(ctx, byToken, loginByToken)
		if err != nil {
			return err
		}
		sent := r
		sent.header = append([]string{"Cookie", cookie(cookies[0], cookies[1])}, r.header...)
		if name != aloneName {
			sent.header = append(sent.header, "X-Session-Key", sessionKey(cookies[0]))
		}
		if a := s.send(ctx, sent); !right.holds(a) {
			return fmt.Errorf("%s", a)
		}
		return nil
	})
}

func own(anns, _ string) string { return anns }

// aloneName is the attack of a server at another port of the same loopback address, which gets the
// cookies.
const aloneName = "a cookie alone"

// sessionKeys holds the keys of sessions by their cookies.
var sessionKeys sync.Map

func sessionKey(cookie string) string {
	key, _ := sessionKeys.Load(cookie)
	text, _ := key.(string)
	return text
}

// swapped returns a cookie in which one character is another one.
func swapped(cookie string, at int) string {
	raw := []byte(cookie)
	if raw[at] == 'A' {
		raw[at] = 'B'
	} else {
		raw[at] = 'A'
	}
	return string(raw)
}

// sessions returns the cookies of new sessions of ann and bob.
func (w *environment) sessions(ctx context.Context, at mode, login string) (*server, []string, error) {
	s, err := w.serve(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	var cookies []string
	for _, user := range []string{"ann", "bob"} {
		credential := user
		if at == byToken {
			credential = tokenOf(user)
		}
		cookie, a := s.logIn(ctx, fmt.Sprintf(login, credential))
		if a.code != 200 {
			return nil, nil, fmt.Errorf("log in: %s", a)
		}
		cookies = append(cookies, cookie)
	}
	return s, cookies, nil
}

func (s *server) logIn(ctx context.Context, body string, header ...string) (string, answer) {
	header = slices.Concat(header, ofPage, []string{"Content-Type", "application/json"})
	a := s.send(ctx, request{method: "POST", path: "/session", body: body, header: header})
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	var begun struct {
		Key string `json:"session_key"`
	}
	if json.Unmarshal(a.body, &begun) == nil {
		sessionKeys.Store(cookie, begun.Key)
	}
	return cookie, a
}

// foreignSession uses a session of a server that trusts names at a server that requires tokens.
func foreignSession(ctx context.Context, w *environment) error {
	_, cookies, err := w.sessions(ctx, byHeader, `{"user":"%s"}`)
	if err != nil {
		return err
	}
	s, _, err := w.sessions(ctx, byToken, loginByToken)
	if err != nil {
		return err
	}
	if a := s.send(ctx, request{method: "GET", path: "/whoami", header: append([]string{"Cookie", cookies[0], "X-Session-Key", sessionKey(cookies[0])}, ofPage...)}); !unauthorized.holds(a) {
		return fmt.Errorf("%s", a)
	}
	return nil
}

// plantedSession plants a session of bob in the browser of ann, who then logs in.
func plantedSession(ctx context.Context, w *environment) error {
	s, cookies, err := w.sessions(ctx, byToken, loginByToken)
	if err != nil {
		return err
	}
	cookie, a := s.logIn(ctx, fmt.Sprintf(loginByToken, tokenOf("ann")), "Cookie", cookies[1])
	if a.code != 200 || slices.Contains(cookies, cookie) {
		return fmt.Errorf("a session that existed before the login: %s", a)
	}
	if a := s.send(ctx, request{method: "GET", path: "/whoami", header: append([]string{"Cookie", cookie, "X-Session-Key", sessionKey(cookie)}, ofPage...)}); !showing(works, `"user":"ann"`).holds(a) {
		return fmt.Errorf("%s", a)
	}
	return nil
}
