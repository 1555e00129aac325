package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/api/openapi"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// fakeAuthenticator knows three tokens.
type fakeAuthenticator struct{}

func (fakeAuthenticator) ReadsUserHeader() bool { return false }

func (fakeAuthenticator) Identify(_ context.Context, c task.Credentials) (task.Identity, error) {
	switch c.Token {
	case "bobs":
		return task.Identity{User: "bob", Groups: []string{"staff"}}, nil
	case "roots":
		return task.Identity{User: "root", Admin: true, CanListAllUsers: true}, nil
	case "later":
		return task.Identity{}, problem.New(problem.Unavailable, "nobody can be asked")
	}
	return task.Identity{}, problem.New(problem.Unauthorized, "Authorization: the token was rejected")
}

func withAuthenticator(c *Config) { c.Auth, c.Login = fakeAuthenticator{}, task.Login{By: "token"} }

// ofUsers lists the routes that require the authentication of a user.
var ofUsers = func() (routes []string) {
	names := strings.NewReplacer("{id}", "anns", "{group}", "g", "{sum}", sumOfNothing, "{rank}", "0")
	for _, o := range openapi.Operations() {
		if slices.Contains(o.Schemes, "user") {
			routes = append(routes, o.Method+" "+names.Replace(o.Path))
		}
	}
	return routes
}()

const sumOfNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func TestEveryRouteAuthenticates(t *testing.T) {
	t.Parallel()
	byHeader, byToken := serve(t, &fake{}), serveWith(t, &fake{}, withAuthenticator)
	for _, route := range ofUsers {
		method, path, _ := strings.Cut(route, " ")
		byHeader.send(method, path, "", userHeader, "-").wantError(t, 401, "X-User")
		for _, tt := range []struct {
			name    string
			headers []string
			code    int
			asks    string
		}{
			{"a name alone", nil, 401, `Bearer realm="k8s-cli"`},
			{"a wrong token", []string{"Authorization", "Bearer wrong"}, 401, `Bearer realm="k8s-cli", error="invalid_token"`},
			{"another scheme", []string{"Authorization", "Basic bobs"}, 401, `Bearer realm="k8s-cli", error="invalid_token"`},
			{"a token that nobody can look at", []string{"Authorization", "Bearer later"}, 503, ""},
		} {
			got := byToken.send(method, path, "", tt.headers...)
			if got.StatusCode != tt.code || got.Header.Get("WWW-Authenticate") != tt.asks {
				t.Errorf("%s with %s: %d, asks %q, want %d and %q", route, tt.name, got.StatusCode, got.Header.Get("WWW-Authenticate"), tt.code, tt.asks)
			}
		}
	}
	for _, s := range []*served{byHeader, byToken} {
		if told, reads := s.told(), s.reads.Load(); len(told) > 0 || reads > 0 {
			t.Errorf("something came through: commands %v, %d reads", told, reads)
		}
	}
}

func TestTwoTokensAreRejected(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withAuthenticator)
	for _, got := range s.raw("GET /whoami HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer bobs\r\nAuthorization: Bearer roots\r\n\r\n") {
		got.wantError(t, 401, "Authorization")
	}
}

// TestAdministratorsActForTheOwner checks that the token identifies the user, whatever the
// headers say, and that a user reads only the user's own objects. A request of an
// administrator is handled in the name of the owner, and waits at one read barrier like any other.
func TestAdministratorsActForTheOwner(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withAuthenticator)
	for _, path := range []string{"/tasks/anns", "/tasks/anns/spec", "/tasks/anns/top", "/tasks/anns/events", "/tasks/anns/logs", "/volumes/anns", "/volumes/anns/events"} {
		s.reads.Store(0)
		s.send(http.MethodGet, path, "", "Authorization", "Bearer bobs", userHeader, "ann").wantError(t, 404, "anns not found")
		s.send(http.MethodGet, path, "", "Authorization", "Bearer roots", userHeader, "ann").wantOK(t)
		if reads := s.reads.Load(); reads != 2 {
			t.Errorf("two requests for %s waited at %d read barriers", path, reads)
		}
	}
	s.send(http.MethodPost, "/tasks/anns/stop", "", "Authorization", "Bearer roots")
	s.send(http.MethodPost, "/tasks/anns/stop", "", "Authorization", "Bearer bobs")
	s.send(http.MethodDelete, "/volumes/anns", "", "Authorization", "Bearer roots")
	s.send(http.MethodPost, "/tasks/unknown/stop", "", "Authorization", "Bearer roots")
	var got []string
	for _, c := range s.told() {
		switch {
		case c.Stop != nil:
			got = append(got, "stop "+c.Stop.User)
		case c.Delete != nil:
			got = append(got, "delete "+c.Delete.User)
		}
	}
	if diff := cmp.Diff([]string{"stop ann", "stop bob", "delete ann", "stop root"}, got); diff != "" {
		t.Errorf("in whose name (-want +got):\n%s", diff)
	}
}

func TestAllUsersIsForAdministrators(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withAuthenticator)
	for _, route := range []string{"GET /tasks", "GET /summary", "GET /volumes", "GET /events", "GET /groups", "GET /usage", "POST /tasks/stop"} {
		method, path, _ := strings.Cut(route, " ")
		s.send(method, path+"?all_users=true", "", "Authorization", "Bearer bobs").wantError(t, 403, "all_users: only administrators")
		if got := s.send(method, path+"?all_users=true", "", "Authorization", "Bearer roots"); got.StatusCode != 200 {
			t.Errorf("%s by an administrator: %d %s", route, got.StatusCode, got.body)
		}
		if got := s.send(method, path, "", "Authorization", "Bearer bobs"); got.StatusCode != 200 {
			t.Errorf("%s of a user's own: %d %s", route, got.StatusCode, got.body)
		}
	}
}

func TestWhoami(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withAuthenticator)
	got := s.send(http.MethodGet, "/whoami", "", "Authorization", "bearer  bobs ")
	var who task.Whoami
	if err := json.Unmarshal([]byte(got.body), &who); err != nil {
		t.Fatalf("%d %s: %v", got.StatusCode, got.body, err)
	}
	if who.User != "bob" || !cmp.Equal(who.Groups, []string{"staff"}) || who.Admin || who.By != "token" {
		t.Errorf("%+v", who)
	}
	if got := s.send(http.MethodGet, "/auth", "", userHeader, "-"); got.body != `{"identified_by":"token"}` {
		t.Errorf("how to log in: %s", got.body)
	}
	open := serve(t, &fake{})
	if got := open.send(http.MethodGet, "/whoami", ""); !strings.Contains(got.body, `"user":"ann","groups":[],"admin":false,"identified_by":"header"`) {
		t.Errorf("by the header: %s", got.body)
	}
}

func TestWhoamiSaysTheLimits(t *testing.T) {
	t.Parallel()
	s, _ := limited(t, task.UserLimits{Active: 3, SubmitRate: 2})
	var who task.Whoami
	got := s.send(http.MethodGet, "/whoami", "")
	if err := json.Unmarshal([]byte(got.body), &who); err != nil {
		t.Fatalf("%d %s: %v", got.StatusCode, got.body, err)
	}
	if l := who.Limits; l.Active != 3 || l.SubmitRate != 2 || l.SubmitBurst != 2 || l.Nodes != 8 {
		t.Errorf("limits %+v", l)
	}
}

func TestWhenToTryAgain(t *testing.T) {
	t.Parallel()
	for wait, want := range map[time.Duration]string{0: "1", time.Millisecond: "1", time.Second: "1", time.Second + 1: "2", time.Minute: "60"} {
		if got := retryAfter(fmt.Errorf("submit: %w", task.ErrLimit(wait, "too many"))); got != want {
			t.Errorf("after %v: %s, want %s", wait, got, want)
		}
	}
	if got := retryAfter(problem.Unavailable); got != "1" {
		t.Errorf("of an error that does not say: %s", got)
	}
}
