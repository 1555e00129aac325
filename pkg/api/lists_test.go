package api

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// withTasks returns a fake whose store has n failed tasks of ann with the label team, t0 the oldest.
func withTasks(t *testing.T, n int) *fake {
	f := &fake{}
	for i := range n {
		c := submitted("ann", fmt.Sprint("t", i))
		c.Submit.Task.Resources.Labels = map[string]string{"team": "a"}
		f.fold(t, c, task.Command{Rejected: &task.Rejected{Key: task.Key{Kind: task.KindTask, ID: c.Submit.ID}, Reason: "Invalid"}})
	}
	return f
}

func TestPagesHaveATotalAndALink(t *testing.T) {
	t.Parallel()
	f := withTasks(t, 7)
	f.lostFor = 3 * time.Second
	s := serve(t, f)
	got := s.send("GET", "/tasks?limit=7", "")
	if got.Header.Get(totalHeader) != "7" || got.Header.Get("Link") != "" || got.Header.Get(nextHeader) != "" || got.Header.Get(staleHeader) != "log; age=3" {
		t.Errorf("the last page has %v", got.Header)
	}
	const path = "/tasks?view=row&label=team&status=failed&limit=5"
	tag := s.send("GET", path, "").Header.Get("ETag")
	got = s.send("GET", path, "", "If-None-Match", tag)
	link, found := strings.CutSuffix(strings.TrimPrefix(got.Header.Get("Link"), "<"), `>; rel="next"`)
	next, err := url.Parse(link)
	if !found || err != nil || next.Path != "/tasks" || got.StatusCode != http.StatusNotModified || got.Header.Get(totalHeader) != "7" || got.Header.Get(nextHeader) == "" {
		t.Fatalf("%d, link %q, headers %v, %v", got.StatusCode, link, got.Header, err)
	}
	want := url.Values{"view": {"row"}, "label": {"team"}, "status": {"failed"}, "limit": {"5"}, "cursor": {got.Header.Get(nextHeader)}}
	if diff := cmp.Diff(want, next.Query()); diff != "" {
		t.Errorf("next page (-want +got):\n%s", diff)
	}
}

// TestTheLinkLeadsToTheNextPage checks that the server accepts the link of a page.
func TestTheLinkLeadsToTheNextPage(t *testing.T) {
	t.Parallel()
	s := serve(t, withTasks(t, 5))
	first := s.send("GET", "/tasks?name_contains=t&sort=-name&limit=2", "")
	next, _, _ := strings.Cut(strings.TrimPrefix(first.Header.Get("Link"), "<"), ">")
	if second := s.send("GET", next, ""); first.names(t) != "t4 t3" || second.names(t) != "t2 t1" {
		t.Errorf("%s, then GET %s: %d %s", first.body, next, second.StatusCode, second.body)
	}
	changed := strings.Replace(next, "sort=-name", "sort=name", 1)
	s.send("GET", changed, "").wantError(t, 422, "cursor: the cursor belongs to a list with other filters or another order")
}

func TestOtherUsersAreForAdministrators(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withAuthenticator)
	for path, sentence := range map[string]string{
		"/tasks?user=ann":                 "user: only administrators of this server (--admins) may name another user",
		"/tasks?user=ann&all_users=false": "user: only administrators",
		"/tasks?all_users=true":           "all_users: only administrators",
		"/tasks?user=bob&all_users=true":  "all_users: only administrators",
		"/summary?all_users=true":         "all_users: only administrators",
	} {
		s.send("GET", path, "", "Authorization", "Bearer bobs").wantError(t, 403, sentence)
	}
	if reads := s.reads.Load(); reads != 0 {
		t.Errorf("%d reads", reads)
	}
	for _, path := range []string{"/tasks", "/tasks?user=bob", "/tasks?status=pending&name_contains=x&since=1h"} {
		if got := s.send("GET", path, "", "Authorization", "Bearer bobs"); got.names(t) != "x" {
			t.Errorf("%s lists %s", path, got.body)
		}
	}
	if got := s.send("GET", "/tasks?user=bob", "", "Authorization", "Bearer roots"); got.names(t) != "x" {
		t.Errorf("an administrator who asks for bob's tasks gets %s", got.body)
	}
}

func TestOverviews(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{lostFor: 9 * time.Second}, withAuthenticator)
	for _, tt := range []struct{ path, token, want string }{
		{"/summary", "bobs", `{"total":1,`},
		{"/summary?all_users=no", "roots", `{"total":0,`},
		{"/summary?all_users=1", "roots", `{"total":4,`},
		{"/capacity", "bobs", `{"known":false,`},
	} {
		got := s.send("GET", tt.path, "", "Authorization", "Bearer "+tt.token)
		if got.StatusCode != 200 || !strings.HasPrefix(got.body, tt.want) || got.Header.Get(staleHeader) != "log; age=9" {
			t.Errorf("%s: %d %s %v, want %s", tt.path, got.StatusCode, got.body, got.Header, tt.want)
		}
		if again := s.send("GET", tt.path, "", "Authorization", "Bearer "+tt.token, "If-None-Match", got.Header.Get("ETag")); again.StatusCode != 304 || again.body != "" {
			t.Errorf("%s with the tag: %d %s", tt.path, again.StatusCode, again.body)
		}
	}
}
