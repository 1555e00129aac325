package api

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
)

// The group of a submission is a parameter, and a field of an item of a batch takes precedence.
func TestGroupsOfSubmissions(t *testing.T) {
	t.Parallel()
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

// The limits of a group are parameters of a submission, and fields of an item of a batch.
func TestLimitsOfAGroup(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	s.send("POST", "/tasks/submit?group=g&max_parallel=7&fail_fast=true", `{"name":"a","run":"true"}`)
	b := s.send("POST", batchPath+"?group=g&max_parallel=2&fail_fast=1", `[{"name":"b","run":"true"}, {"name":"c","run":"true","max_parallel":3},
		{"name":"d","run":"true","fail_fast":true,"max_parallel":null}, {"name":"e","run":"true","group":"h","fail_fast":false},
		{"run":"true","max_parallel":0}, {"run":"true","max_parallel":"many"}, {"run":"true","max_parallel":[1]}, {"run":"true","fail_fast":"yes"}]`).batch(t)
	got := map[string]string{}
	for _, c := range s.told() {
		got[c.Submit.Task.Name] = fmt.Sprint(c.Submit.Group, c.Submit.MaxParallel, c.Submit.FailFast)
	}
	want := map[string]string{"a": "g7 true", "b": "g2 true", "c": "g3 false", "d": "g0 true", "e": "h0 false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	for i, field := range []string{"max_parallel", "max_parallel", "max_parallel", "fail_fast"} {
		if r := b.Results[4+i]; r.Code != 422 || r.Field != field {
			t.Errorf("an invalid %s: %+v", field, r)
		}
	}
	for query, detail := range map[string]string{
		"max_parallel=2":            "max_parallel: the task belongs to no group",
		"fail_fast=true":            "fail_fast: the task belongs to no group",
		"group=g&max_parallel=0":    `max_parallel: "0" is not a number of tasks, from 1`,
		"group=g&fail_fast=perhaps": `fail_fast: "perhaps" is neither true nor false`,
	} {
		s.send("POST", "/tasks/submit?"+query, `{"run":"true"}`).wantError(t, 422, detail)
		s.send("POST", batchPath+"?"+query, `[{"run":"true"}]`).wantError(t, 422, detail)
	}
}

func TestInvalidGroups(t *testing.T) {
	t.Parallel()
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
		if path == "/tasks/stop" {
			s.send(method, path+"?group=", "").wantError(t, 422, "group: the value is empty; give a value, or omit the parameter")
			continue
		}
		s.send(method, path+"?group=", body).wantError(t, 422, "group: the name of a group must not be empty")
	}
	if len(s.told()) > 0 {
		t.Errorf("commands %v", s.told())
	}
}

// A stop of a group never becomes a stop of all tasks.
func TestStopOfAGroup(t *testing.T) {
	t.Parallel()
	s := serve(t, &fake{})
	s.send("POST", "/tasks/stop?group=g", "")
	s.send("POST", "/tasks/stop?group=g&all_users=true", "").wantError(t, 422, "group: a group belongs to one user; omit all_users")
	want := []task.Command{{StopAll: &task.StopAll{User: "ann", Group: "g"}}}
	if diff := cmp.Diff(want, s.told()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestStopByFilters(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, withAuthenticator)
	stop := func(query, token string) answered {
		return s.send("POST", "/tasks/stop?"+query, "", "Authorization", "Bearer "+token)
	}
	stop("status=pending&name_prefix=train-&not_label=keep&before=2026-11-21T06:05:35Z", "bobs")
	stop("group=g&gpus=8&user=bob", "bobs")
	stop("user=bob&all_users=true", "roots")
	stop("all_users=true&point=A%3D1", "roots")
	want := []task.Command{
		{StopAll: &task.StopAll{User: "bob", Filter: &task.Filter{
			Conditions: task.Conditions{Phases: []task.Phase{task.Pending}, NamePrefix: "train-"}, Not: &task.Conditions{Labels: []string{"keep"}},
			Before: "2026-11-21T06:05:35Z", Until: time.Date(2026, 11, 21, 6, 5, 35, 0, time.UTC),
		}}},
		{StopAll: &task.StopAll{User: "bob", Group: "g", Filter: &task.Filter{Conditions: task.Conditions{GPUs: []string{"8"}}}}},
		{StopAll: &task.StopAll{User: "bob"}},
		{StopAll: &task.StopAll{User: "root", AllUsers: true, Filter: &task.Filter{Conditions: task.Conditions{Points: []string{"A=1"}}}}},
	}
	if diff := cmp.Diff(want, s.take()); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
	for query, detail := range map[string]string{
		"status=":           "status: the value is empty",
		"stauts=pending":    "stauts: is not a parameter of a stop",
		"machine=m":         "machine: cannot select the tasks of a stop",
		"status=done":       `status: "done" is not one of`,
		"since=soon":        `since: "soon" is neither an age`,
		"sort=name":         "sort: is not a parameter of a stop",
		"all_users=perhaps": `all_users: "perhaps" is neither true nor false`,
	} {
		stop(query, "bobs").wantError(t, 422, detail)
	}
	stop("user=ann", "bobs").wantError(t, 403, "user: only administrators")
	stop("all_users=true", "bobs").wantError(t, 403, "all_users: only administrators")
	if told := s.told(); len(told) > 0 {
		t.Errorf("commands %v", told)
	}
}

// grouped returns a task of a group.
func grouped(user, id, group string) task.Command {
	c := submitted(user, id)
	c.Submit.Group = group
	return c
}

func TestGroupsOfTheCaller(t *testing.T) {
	t.Parallel()
	f := &fake{}
	f.fold(t, grouped("ann", "a1", "g"), grouped("ann", "a2", "g"), grouped("bob", "b", "g"))
	s := serveWith(t, f, withAuthenticator)
	const anns, bobs = `{"group":"g","user":"ann",`, `{"group":"g","user":"bob",`
	for _, tt := range []struct{ path, token, want string }{
		{"/groups", "bobs", `{"groups":[` + bobs},
		{"/groups?all_users=true", "roots", `{"groups":[` + bobs},
		{"/groups?all_users=true", "roots", "," + anns},
		{"/groups/g", "bobs", bobs},
		{"/groups/g?user=bob", "bobs", bobs},
		{"/groups/g?user=ann", "roots", anns},
		{"/groups/g?user=ann", "bobs", "user: only administrators"},
		{"/groups/g?user=%20", "roots", "user: the name is empty"},
	} {
		s.wantAnswer(tt.path, tt.token, tt.want)
	}
	if a := s.send("GET", "/groups", "", "Authorization", "Bearer bobs"); a.names(t) != "g" {
		t.Errorf("groups of bob: %s", a.body)
	}
}

func TestListsOfGroupsHavePages(t *testing.T) {
	t.Parallel()
	f := &fake{}
	for n, name := range []string{"one", "two", "three", "four"} {
		f.fold(t, grouped("ann", fmt.Sprint("a", n), name))
	}
	s := serve(t, f)
	first := s.send("GET", "/groups?limit=3&status=pending", "")
	next := first.Header.Get(nextHeader)
	second := s.send("GET", "/groups?limit=3&status=pending&cursor="+next, "")
	if first.names(t) != "four three two" || second.names(t) != "one" || next == "" || second.Header.Get(nextHeader) != "" {
		t.Errorf("%s, next %q, then %s, next %q", first.body, next, second.body, second.Header.Get(nextHeader))
	}
	if a := s.send("GET", "/groups?name=two", ""); a.names(t) != "two" {
		t.Errorf("a group by name: %s", a.body)
	}
	s.send("GET", "/groups?cursor=x", "").wantError(t, 422, `cursor: "x" is not a cursor of this server`)
}
