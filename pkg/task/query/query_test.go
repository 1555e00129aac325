package query

import (
	"errors"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit/must"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		query string
		want  Tasks
	}{
		{"", Tasks{}},
		{"status=&name=&limit=&cursor=&sort=&label=&reason=&since=&user=&view=", Tasks{}},
		{"all_users=yes", Tasks{AllUsers: true}},
		{"all_users=0", Tasks{}},
		{"user=%20ann%20", Tasks{User: "ann"}},
		{"status=failed", Tasks{Phases: []task.Phase{task.Failed}}},
		{"status=failed,stopped&status=running", Tasks{Phases: []task.Phase{task.Failed, task.Stopped, task.Running}}},
		{"name=a,b&name_prefix=c&name_contains=d&name_contains=e,f", Tasks{Name: "a,b", NamePrefix: "c", NameContains: []string{"d", "e,f"}}},
		{"gpus=8,H100&gpus=TPU-v5:4&gpus=0", Tasks{GPUs: []string{"8", "H100", "TPU-v5:4", "0"}}},
		{"machine=gpu-7,gpu-8.example.com&exit=0,137&exit=255", Tasks{Machines: []string{"gpu-7", "gpu-8.example.com"}, ExitCodes: []int{0, 137, 255}}},
		{"point=LR%3D0.1&point=NAME%3Da,b%3Dc", Tasks{Points: []string{"LR=0.1", "NAME=a,b=c"}}},
		{"not_status=failed,stopped&status=failed&not_exit=0&not_name=x&not_point=A%3D&not_group=", Tasks{
			Phases: []task.Phase{task.Failed},
			Not:    &Tasks{Phases: []task.Phase{task.Failed, task.Stopped}, ExitCodes: []int{0}, Name: "x", Points: []string{"A="}},
		}},
		{"before=2026-11-21T06:05:35Z&since=3d", Tasks{Before: "2026-11-21T06:05:35Z", Since: "3d"}},
		{"label=team%3Dsearch&label=example.com/x,empty%3D", Tasks{Labels: []string{"team=search", "example.com/x", "empty="}}},
		{"annotation=commit%3D4f2a,91c&annotation=note", Tasks{Annotations: []string{"commit=4f2a,91c", "note"}}},
		{"reason=OOMKilled,Backlog", Tasks{Reasons: []string{"OOMKilled", "Backlog"}}},
		{"group=sweep-1", Tasks{Group: "sweep-1"}},
		{"since=2d&limit=3", Tasks{Since: "2d", Limit: 3}},
		{"sort=-ended", Tasks{Sort: "-ended"}},
		{"sort=name&view=row&cursor=x", Tasks{Sort: "name", View: Row, Cursor: "x"}},
		{"view=full", Tasks{}},
		{"offset=0", Tasks{}},
		{"offset=50000&limit=100", Tasks{Offset: 50000, Limit: 100}},
	} {
		values, err := url.ParseQuery(tt.query)
		must.Succeed(t, err)
		got, err := Parse(values)
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: error %v, query (-want +got):\n%s", tt.query, err, diff)
		}
		if again, err := Parse(got.Values()); err != nil || !cmp.Equal(got, again) {
			t.Errorf("%s: after writing and reading %+v, %v", tt.query, again, err)
		}
	}
}

func TestParseNamesTheParameterInItsError(t *testing.T) {
	for query, want := range map[string]string{
		"colour=red":                          `colour: is not a parameter of this list; use one of all_users, annotation, before, cursor, exit, gpus, group, label, limit, machine, name, name_contains, name_prefix, offset, point, reason, since, sort, status, user, view, or not_ before the name of a filter`,
		"not_since=2d":                        `not_since: is not a parameter of this list`,
		"not_limit=2":                         `not_limit: is not a parameter of this list`,
		"not_status=done":                     `not_status: "done" is not one of [pending running completed failed stopped]`,
		"not_name=a&not_name=b":               `not_name: is given more than once`,
		"before=tomorrow":                     `before: "tomorrow" is neither an age such as 90s, 3h or 2d nor a time in RFC 3339`,
		"exit=256":                            `exit: "256" is not an exit code, which is a whole number from 0 to 255`,
		"exit=-1":                             `exit: "-1" is not an exit code`,
		"exit=1,":                             `exit: "" is not an exit code`,
		"gpus=H100:":                          `gpus: "H100:" is not a number of GPUs such as 8, a model such as H100, or both such as H100:8`,
		"gpus=0.5":                            `gpus: "0.5" is not a number of GPUs`,
		"machine=a b":                         `machine: "a b" is not the name of a machine`,
		"point=LR":                            `point: "LR" is not NAME=VALUE`,
		"point=%3D1":                          `point: "=1" is not NAME=VALUE`,
		"Limit=3":                             `Limit: is not a parameter`,
		"co%20lour=red":                       `"co lour": is not a parameter`,
		"group=a%20b":                         `group: "a b" must be at most 63 letters`,
		"limit=0":                             `limit: "0" is not a whole number of at least 1`,
		"offset=-1":                           `offset: "-1" is not a whole number of at least 0`,
		"offset=1.5":                          `offset: "1.5" is not`,
		"limit=-1":                            `limit: "-1" is not`,
		"limit=1.5":                           `limit: "1.5" is not`,
		"limit=99999999999999999999":          `limit: "99999999999999999999" is not`,
		"limit=1&limit=2":                     `limit: is given more than once`,
		"name=a&name=b":                       `name: is given more than once`,
		"user=a&user=b":                       `user: is given more than once`,
		"user=a%0Ab":                          `user: the name contains control characters`,
		"status=done":                         `status: "done" is not one of [pending running completed failed stopped]`,
		"status=failed,":                      `status: "" is not one of`,
		"status=Failed":                       `status: "Failed" is not one of`,
		"sort=size":                           `sort: "size" is not one of created, started, ended, name, status, with - in front for descending order`,
		"sort=--name":                         `sort: "--name" is not one of`,
		"sort=%2Bname":                        `sort: "+name" is not one of`,
		"since=yesterday":                     `since: "yesterday" is neither an age such as 90s, 3h or 2d nor a time in RFC 3339`,
		"since=-2h":                           `since: "-2h" is neither`,
		"since=0s":                            `since: "0s" is neither`,
		"since=2026-11-21":                    `since: "2026-11-21" is neither`,
		"label=a b":                           `label: "a b" is not NAME or DOMAIN/NAME; give KEY=VALUE, or KEY for any value`,
		"label=%3Dx":                          `label: "" is not NAME`,
		"label=a%3D-b":                        `label: "-b" must be`,
		"label=a%3Db%3Dc":                     `label: "b=c" must be`,
		"reason=Two Words":                    `reason: "Two Words" is not a reason`,
		"reason=a,":                           `reason: "" is not a reason`,
		"view=wide":                           `view: "wide" is not one of full, row`,
		"all_users=maybe":                     `all_users: "maybe" is neither true nor false`,
		"all_users=":                          `all_users: "" is neither true nor false`,
		"name=" + strings.Repeat("x", 1025):   `name: 1025 bytes exceed the limit of 1024`,
		strings.Repeat("label=a&", 65) + "x=": `label: 65 values exceed the limit of 64`,
	} {
		values, err := url.ParseQuery(query)
		must.Succeed(t, err)
		if _, err = Parse(values); err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, problem.Invalid) {
			t.Errorf("%.50s: error %v, want %s", query, err, want)
		}
		field, _, _ := strings.Cut(want, ":")
		if strings.HasPrefix(field, `"`) {
			field = ""
		}
		if got := problem.Field(err); got != field {
			t.Errorf("%.50s: field %q, want %q", query, got, field)
		}
	}
}

var now = time.Date(2026, 11, 22, 12, 0, 0, 5, time.UTC)

func TestSince(t *testing.T) {
	for given, want := range map[string]time.Time{
		"90s": now.Add(-90 * time.Second), "3h": now.Add(-3 * time.Hour), "2d": now.AddDate(0, 0, -2), "1.5d": now.Add(-36 * time.Hour), "1w": now.AddDate(0, 0, -7),
		"1h30m": now.Add(-90 * time.Minute), "2026-11-21T06:05:35Z": time.Date(2026, 11, 21, 6, 5, 35, 0, time.UTC),
		"2026-11-21T07:05:35.9+01:00": time.Date(2026, 11, 21, 6, 5, 35, 0, time.UTC),
	} {
		l, err := Tasks{Since: given, Before: given}.List("ann", now)
		if err != nil || !l.From.Equal(want.Truncate(time.Second)) || l.Until != l.From {
			t.Errorf("since and before %s are %s and %s, %v, want %s", given, l.From, l.Until, err, want)
		}
	}
}

func TestParseStop(t *testing.T) {
	for query, want := range map[string]string{
		"": "",
		"group=g&status=pending&not_label=keep&before=1h&gpus=8&user=bob&all_users=1": "",
		"status=":            `status: the value is empty; give a value, or omit the parameter`,
		"label=a&label=":     `label: the value is empty`,
		"stauts=pending":     `stauts: is not a parameter of a stop; use one of all_users, annotation, before, gpus, group, label, name, name_contains, name_prefix, point, since, status, user, or not_ before the name of a filter`,
		"limit=5":            `limit: is not a parameter of a stop`,
		"not_limit=5":        `not_limit: is not a parameter of a stop`,
		"machine=m":          `machine: cannot select the tasks of a stop, because it depends on the cluster and not on the log alone; list the tasks, and stop them by their ids`,
		"not_reason=Backlog": `not_reason: cannot select the tasks of a stop`,
		"exit=1":             `exit: cannot select the tasks of a stop`,
		"status=done":        `status: "done" is not one of`,
	} {
		values, err := url.ParseQuery(query)
		must.Succeed(t, err)
		q, err := ParseStop(values)
		if same, _ := Parse(values); want == "" && (err != nil || !cmp.Equal(q, same)) {
			t.Errorf("%s: %+v, error %v", query, q, err)
		}
		if want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || !errors.Is(err, problem.Invalid)) {
			t.Errorf("%s: error %v, want %s", query, err, want)
		}
	}
}

func TestScope(t *testing.T) {
	for _, tt := range []struct {
		q    Tasks
		user string
		all  bool
	}{
		{Tasks{}, "ann", false},
		{Tasks{AllUsers: true}, "", true},
		{Tasks{User: "bob"}, "bob", false},
		{Tasks{User: "bob", AllUsers: true}, "bob", false},
	} {
		l, err := tt.q.List("ann", now)
		if user, all := l.Scope(); user != tt.user || all != tt.all || err != nil {
			t.Errorf("%+v: %q %t %v, want %q %t", tt.q, user, all, err, tt.user, tt.all)
		}
	}
}

func TestACursorHoldsThePositionAndTheMeaningOfAges(t *testing.T) {
	for _, p := range []Position{
		{Order: 1},
		{Order: math.MaxUint64, Key: Key{Number: math.MinInt64}},
		{Order: 7, Key: Key{Missing: true}},
		{Order: 7, Key: Key{Text: "naïve\x00name"}},
	} {
		q := Tasks{Since: "2h", Before: "1h", Sort: "-name", Limit: 5}
		first, err := q.List("ann", now)
		must.Succeed(t, err)
		q.Cursor, q.Limit, q.View = first.NextCursor(p), 9, Row // neither changes which tasks are in the list
		next, err := q.List("ann", now.Add(time.Hour))
		if err != nil || next.After == nil || *next.After != p || !next.From.Equal(first.From) || !next.Until.Equal(first.Until) {
			t.Errorf("%+v: the next page begins after %+v, from %s until %s, %v", p, next.After, next.From, next.Until, err)
		}
	}
}

func TestACursorOfAnotherListIsRefused(t *testing.T) {
	q := Tasks{Phases: []task.Phase{task.Failed, task.Running}, Labels: []string{"a", "b"}}
	first, err := q.List("ann", now)
	must.Succeed(t, err)
	cursor := first.NextCursor(Position{Order: 7})
	same := Tasks{Phases: []task.Phase{task.Running, task.Failed, task.Failed}, Labels: []string{"b", "a"}, Cursor: cursor, Sort: "-created"}
	if _, err := same.List("ann", now); err != nil {
		t.Errorf("the same list in other words: %v", err)
	}
	for name, change := range map[string]func(*Tasks){
		"status":        func(q *Tasks) { q.Phases = q.Phases[:1] },
		"name":          func(q *Tasks) { q.Name = "x" },
		"name_prefix":   func(q *Tasks) { q.NamePrefix = "x" },
		"name_contains": func(q *Tasks) { q.NameContains = []string{"x"} },
		"point":         func(q *Tasks) { q.Points = []string{"A=1"} },
		"gpus":          func(q *Tasks) { q.GPUs = []string{"8"} },
		"machine":       func(q *Tasks) { q.Machines = []string{"m"} },
		"exit":          func(q *Tasks) { q.ExitCodes = []int{1} },
		"not_status":    func(q *Tasks) { q.Not = &Tasks{Phases: []task.Phase{task.Stopped}} },
		"group":         func(q *Tasks) { q.Group = "g" },
		"before":        func(q *Tasks) { q.Before = "2h" },
		"label":         func(q *Tasks) { q.Labels = []string{"a"} },
		"annotation":    func(q *Tasks) { q.Annotations = []string{"a"} },
		"reason":        func(q *Tasks) { q.Reasons = []string{"X"} },
		"since":         func(q *Tasks) { q.Since = "2h" },
		"sort":          func(q *Tasks) { q.Sort = "created" },
		"user":          func(q *Tasks) { q.User = "bob" },
		"all_users":     func(q *Tasks) { q.AllUsers = true },
	} {
		q := q
		q.Cursor = cursor
		change(&q)
		if _, err := q.List("ann", now); !errors.Is(err, problem.Invalid) || !strings.HasPrefix(err.Error(), "cursor: the cursor belongs to a list with other filters or another order") {
			t.Errorf("another %s: error %v", name, err)
		}
	}
	q.Cursor = cursor
	if _, err := q.List("bob", now); err == nil {
		t.Error("another user may use the cursor")
	}
	for _, bad := range []string{"7", "!", "AQ", cursor[:10], cursor[:len(cursor)-1], "Ag" + cursor[2:], strings.Repeat("A", 40)} {
		q.Cursor = bad
		if _, err := q.List("ann", now); !errors.Is(err, problem.Invalid) || !strings.HasPrefix(err.Error(), "cursor: "+task.Quote(bad)+" is not a cursor of this server") {
			t.Errorf("cursor %q: error %v", bad, err)
		}
	}
}

func FuzzCursor(f *testing.F) {
	f.Add("AQAA")
	f.Fuzz(func(_ *testing.T, text string) {
		_, _, _, _, _ = decodeCursor(text)
	})
}

func TestCacheKeysDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range []Tasks{{}, {Limit: 1}, {View: Row}, {Name: "a"}, {NamePrefix: "a"}, {NameContains: []string{"a"}}, {Since: "1h"}, {Before: "1h"}, {ExitCodes: []int{1}}, {Not: &Tasks{ExitCodes: []int{1}}}, {Not: &Tasks{Name: "a"}}, {Reasons: []string{"a"}}, {Labels: []string{"a"}}, {Annotations: []string{"a"}}, {AllUsers: true}, {Sort: "name"}, {Sort: "-name"}} {
		for _, user := range []string{"ann", "bob"} {
			l, err := q.List(user, now)
			must.Succeed(t, err)
			seen[l.CacheKey()] = true
		}
	}
	if len(seen) != 33 { // all_users has the same meaning for both
		t.Errorf("%d different keys, want 33", len(seen))
	}
}
