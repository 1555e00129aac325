package api

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// The group of a submission is a parameter, and a field of an item of a batch takes precedence.
func TestGroupsOfSubmissions(t *testing.T) {
	s := serve(t, &fake{})
	s.send("POST", "/tasks/submit?group=sweep-1", `{"name":"a","run":"true"}`)
	s.send("POST", "/tasks/submit", `{"name":"b","run":"true"}`)
	b := s.send("POST", batchPath+"?group=sweep-2", `[{"name":"c","run":"true","group":"own"}, {"name":"d","run":"true"},
		{"name":"e","run":"true","group":null}, {"run":"true","group":"a b"}, {"run":"true","group":["x"]}, {"run":"true","group":""}]`).batch(t)
	got := map[string]string{}
	for _, c := range s.told() {
		got[c.Submit.Task.Name] = c.Submit.Group
	}
	if diff := cmp.Diff(map[string]string{"a": "sweep-1", "b": "", "c": "own", "d": "sweep-2", "e": "sweep-2"}, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	for _, r := range b.Results[3:] {
		if r.Code != 422 || r.Field != "group" {
			t.Errorf("an invalid group: %+v", r)
		}
	}
}

func TestInvalidGroups(t *testing.T) {
	s := serve(t, &fake{})
	for _, path := range []string{"POST /tasks/submit", "POST /tasks/batch", "POST /tasks/stop", "GET /tasks", "GET /events"} {
		method, path, _ := strings.Cut(path, " ")
		body := ""
		if path != "/tasks/stop" && method == http.MethodPost {
			body = `{"run":"true"}`
		}
		s.send(method, path+"?group=a%20b", body).wantError(t, 422, `group: "a b" must be at most 63 letters, digits, - _ and .`)
		if path == "/tasks" {
			continue // a parameter of a list without a value counts as missing
		}
		s.send(method, path+"?group=", body).wantError(t, 422, "group: the name of a group must not be empty")
	}
	if len(s.told()) > 0 {
		t.Errorf("commands %v", s.told())
	}
}

// A stop of a group never becomes a stop of all tasks.
func TestStopOfAGroup(t *testing.T) {
	s := serve(t, &fake{})
	s.send("POST", "/tasks/stop?group=g", "")
	s.send("POST", "/tasks/stop?group=g&all_users=true", "").wantError(t, 422, "group: a group belongs to one user; omit all_users")
	want := []task.Command{{StopAll: &task.StopAll{User: "ann", Group: "g"}}}
	if diff := cmp.Diff(want, s.told()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestWhoseGroupsAreShown(t *testing.T) {
	for _, tt := range []struct{ path, token, want string }{
		{"/groups", "bobs", "groups bob false"},
		{"/groups?all_users=true", "roots", "groups root true"},
		{"/groups/g", "bobs", "group bob g"},
		{"/groups/g?user=bob", "bobs", "group bob g"},
		{"/groups/g?user=ann", "roots", "group ann g"},
		{"/groups/g?user=ann", "bobs", "user: only administrators"},
		{"/groups/g?user=%20", "roots", "user: the name is empty"},
	} {
		s := serveWith(t, &fake{answer: task.Answer{Body: []byte(`{}`), ETag: `W/"1"`}}, withAuthenticator)
		a := s.send("GET", tt.path, "", "Authorization", "Bearer "+tt.token)
		if a.StatusCode != 200 {
			if !strings.Contains(a.body, tt.want) {
				t.Errorf("%s: %d %s", tt.path, a.StatusCode, a.body)
			}
			continue
		}
		if got := s.questions(); !cmp.Equal(got, []string{tt.want}) {
			t.Errorf("%s of %s: %q", tt.path, tt.token, got)
		}
	}
}

func TestListsOfGroupsHavePages(t *testing.T) {
	s := serve(t, &fake{answer: task.Answer{Body: []byte(`{}`), ETag: `W/"1"`, Next: "7"}})
	a := s.send("GET", "/groups?limit=2&cursor=9&status=running&name=g", "")
	if diff := cmp.Diff(task.Query{User: "ann", Name: "g", Phase: task.Running, Limit: 2, Before: 9}, s.query); diff != "" || a.Header.Get(nextHeader) != "7" {
		t.Errorf("next %q, query (-want +got):\n%s", a.Header.Get(nextHeader), diff)
	}
	s.send("GET", "/groups?cursor=x", "").wantError(t, 422, `cursor: "x" is not a cursor of this server`)
}
