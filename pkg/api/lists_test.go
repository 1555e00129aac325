package api

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/query"
)

func TestPagesHaveATotalAndALink(t *testing.T) {
	t.Parallel()
	f := &fake{answer: task.Answer{Body: []byte(`{"tasks":[]}`), ETag: `W/"x"`, Stale: "log; age=3"}, total: 17}
	s := serve(t, f)
	got := s.send("GET", "/tasks?limit=5", "")
	if got.Header.Get(totalHeader) != "17" || got.Header.Get("Link") != "" || got.Header.Get(nextHeader) != "" || got.Header.Get(staleHeader) != "log; age=3" {
		t.Errorf("the last page has %v", got.Header)
	}
	l, err := query.Tasks{Limit: 5, Phases: []task.Phase{task.Failed}, Labels: []string{"team=a&b"}, View: query.Row}.List("ann", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	f.answer.Next = l.NextCursor(query.Position{Order: 7})
	got = s.send("GET", "/tasks?view=row&label=team&status=failed&limit=5", "", "If-None-Match", `W/"x"`)
	link, found := strings.CutSuffix(strings.TrimPrefix(got.Header.Get("Link"), "<"), `>; rel="next"`)
	next, err := url.Parse(link)
	if !found || err != nil || next.Path != "/tasks" || got.StatusCode != http.StatusNotModified || got.Header.Get(totalHeader) != "17" || got.Header.Get(nextHeader) != f.answer.Next {
		t.Fatalf("%d, link %q, headers %v, %v", got.StatusCode, link, got.Header, err)
	}
	want := url.Values{"view": {"row"}, "label": {"team"}, "status": {"failed"}, "limit": {"5"}, "cursor": {f.answer.Next}}
	if diff := cmp.Diff(want, next.Query()); diff != "" {
		t.Errorf("next page (-want +got):\n%s", diff)
	}
}

// TestTheLinkLeadsToTheNextPage checks that the server accepts the link of a page.
func TestTheLinkLeadsToTheNextPage(t *testing.T) {
	t.Parallel()
	f := &fake{answer: task.Answer{Body: []byte(`{}`)}}
	s := serve(t, f)
	const first = "/tasks?name_contains=a+b&sort=-name&since=2h&limit=2"
	s.send("GET", first, "")
	f.answer.Next = f.list.NextCursor(query.Position{Order: 7, Key: query.Key{Text: "b"}})
	link := s.send("GET", first, "").Header.Get("Link")
	next, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	if got := s.send("GET", next, ""); got.StatusCode != 200 || f.list.After == nil || f.list.After.Order != 7 {
		t.Errorf("GET %s: %d %s, after %+v", next, got.StatusCode, got.body, f.list.After)
	}
	changed := strings.Replace(next, "sort=-name", "sort=name", 1)
	s.send("GET", changed, "").wantError(t, 422, "cursor: the cursor belongs to a list with other filters or another order")
}

func TestOtherUsersAreForAdministrators(t *testing.T) {
	t.Parallel()
	f := &fake{}
	s := serveWith(t, f, withAuthenticator)
	for path, sentence := range map[string]string{
		"/tasks?user=ann":                 "user: only administrators of this server (--admins) may name another user",
		"/tasks?user=ann&all_users=false": "user: only administrators",
		"/tasks?all_users=true":           "all_users: only administrators",
		"/tasks?user=bob&all_users=true":  "all_users: only administrators",
		"/summary?all_users=true":         "all_users: only administrators",
	} {
		s.send("GET", path, "", "Authorization", "Bearer bobs").wantError(t, 403, sentence)
	}
	if len(f.questions()) != 0 {
		t.Errorf("the store was asked %q", f.questions())
	}
	for path, want := range map[string]string{
		"/tasks": "bob", "/tasks?user=bob": "bob", "/tasks?label=a&reason=Error&name_contains=x&since=1h": "bob",
	} {
		s.send("GET", path, "", "Authorization", "Bearer bobs")
		if user, all := f.list.Scope(); user != want || all {
			t.Errorf("%s lists the tasks of %q, %t", path, user, all)
		}
	}
	s.send("GET", "/tasks?user=bob", "", "Authorization", "Bearer roots")
	if user, all := f.list.Scope(); user != "bob" || all {
		t.Errorf("an administrator who asks for bob's tasks gets those of %q, %t", user, all)
	}
}

func TestOverviews(t *testing.T) {
	t.Parallel()
	f := &fake{answer: task.Answer{Body: []byte(`{"total":0}`), ETag: `W/"x"`, Stale: "cluster; age=9"}}
	s := serveWith(t, f, withAuthenticator)
	for _, tt := range []struct{ path, token, asked string }{
		{"/summary", "bobs", "summary bob false"},
		{"/summary?all_users=no", "roots", "summary root false"},
		{"/summary?all_users=1", "roots", "summary root true"},
		{"/capacity", "bobs", "capacity"},
	} {
		got := s.send("GET", tt.path, "", "Authorization", "Bearer "+tt.token)
		asked := f.questions()
		if got.StatusCode != 200 || got.body != `{"total":0}` || got.Header.Get("ETag") != `W/"x"` || got.Header.Get(staleHeader) != "cluster; age=9" || asked[len(asked)-1] != tt.asked {
			t.Errorf("%s: %d %s %v, asked %q", tt.path, got.StatusCode, got.body, got.Header, asked)
		}
		if again := s.send("GET", tt.path, "", "Authorization", "Bearer "+tt.token, "If-None-Match", `W/"x"`); again.StatusCode != 304 || again.body != "" {
			t.Errorf("%s with the tag: %d %s", tt.path, again.StatusCode, again.body)
		}
	}
}
