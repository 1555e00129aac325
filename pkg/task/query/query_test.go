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
		{"name=a,b&name_prefix=c&name_contains=d", Tasks{Name: "a,b", NamePrefix: "c", NameContains: "d"}},
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
		if err != nil {
			t.Fatal(err)
		}
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
		"colour=red":                          `colour: is not a parameter of this list; use one of all_users, annotation, cursor, group, label, limit, name, name_contains, name_prefix, offset, reason, since, sort, status, user, view`,
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
		if err != nil {
			t.Fatal(err)
		}
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
		l, err := Tasks{Since: given}.List("ann", now)
		if err != nil || !l.From.Equal(want.Truncate(time.Second)) {
			t.Errorf("since %s is %s, %v, want %s", given, l.From, err, want)
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

func TestACursorHoldsThePositionAndTheMeaningOfSince(t *testing.T) {
	for _, p := range []Position{
		{Order: 1},
		{Order: math.MaxUint64, Key: Key{Number: math.MinInt64}},
		{Order: 7, Key: Key{Missing: true}},
		{Order: 7, Key: Key{Text: "naïve\x00name"}},
	} {
		q := Tasks{Since: "2h", Sort: "-name", Limit: 5}
		first, err := q.List("ann", now)
		if err != nil {
			t.Fatal(err)
		}
		q.Cursor, q.Limit, q.View = first.NextCursor(p), 9, Row // neither changes which tasks are in the list
		next, err := q.List("ann", now.Add(time.Hour))
		if err != nil || next.After == nil || *next.After != p || !next.From.Equal(first.From) {
			t.Errorf("%+v: the next page begins after %+v, from %s, %v", p, next.After, next.From, err)
		}
	}
}

func TestACursorOfAnotherListIsRefused(t *testing.T) {
	q := Tasks{Phases: []task.Phase{task.Failed, task.Running}, Labels: []string{"a", "b"}}
	first, err := q.List("ann", now)
	if err != nil {
		t.Fatal(err)
	}
	cursor := first.NextCursor(Position{Order: 7})
	same := Tasks{Phases: []task.Phase{task.Running, task.Failed, task.Failed}, Labels: []string{"b", "a"}, Cursor: cursor, Sort: "-created"}
	if _, err := same.List("ann", now); err != nil {
		t.Errorf("the same list in other words: %v", err)
	}
	for name, change := range map[string]func(*Tasks){
		"status":        func(q *Tasks) { q.Phases = q.Phases[:1] },
		"name":          func(q *Tasks) { q.Name = "x" },
		"name_prefix":   func(q *Tasks) { q.NamePrefix = "x" },
		"name_contains": func(q *Tasks) { q.NameContains = "x" },
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
		_, _, _, _ = decodeCursor(text)
	})
}

func TestCacheKeysDiffer(t *testing.T) {
	seen := map[string]bool{}
	for _, q := range []Tasks{{}, {Limit: 1}, {View: Row}, {Name: "a"}, {NamePrefix: "a"}, {NameContains: "a"}, {Since: "1h"}, {Reasons: []string{"a"}}, {Labels: []string{"a"}}, {Annotations: []string{"a"}}, {AllUsers: true}, {Sort: "name"}, {Sort: "-name"}} {
		for _, user := range []string{"ann", "bob"} {
			l, err := q.List(user, now)
			if err != nil {
				t.Fatal(err)
			}
			seen[l.CacheKey()] = true
		}
	}
	if len(seen) != 25 { // all_users has the same meaning for both
		t.Errorf("%d different keys, want 25", len(seen))
	}
}
