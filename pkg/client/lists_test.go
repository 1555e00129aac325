package client

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

func TestPagesFollowTheCursor(t *testing.T) {
	var requests []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		requests = append(requests, r.RequestURI)
		cursor := r.URL.Query().Get("cursor")
		next := map[string]string{"": "c1", "c1": "c2"}[cursor]
		if next != "" {
			w.Header().Set("X-Next-Cursor", next)
		}
		w.Header().Set("X-Total-Count", "3")
		w.Header().Set("X-Stale", "log; age=3")
		_, _ = io.WriteString(w, `{"tasks":[{"id":"t`+cursor+`","status":"running","created":7,"nodes":2,"gpus":"H100:8"}]}`)
	})
	q := query.Tasks{Phases: []task.Phase{task.Running, task.Failed}, Labels: []string{"team=a"}, Limit: 1}
	for range 2 { // a sequence can be used again
		requests = nil
		var got []Page[overview.Row]
		for p, err := range c.RowPages(t.Context(), q) {
			must.Succeed(t, err)
			got = append(got, p)
		}
		row := func(id string) []overview.Row {
			return []overview.Row{{ID: id, Phase: task.Running, Created: 7, Nodes: 2, GPUs: "H100:8"}}
		}
		want := []Page[overview.Row]{{row("t"), 3, "c1", "log; age=3"}, {row("tc1"), 3, "c2", "log; age=3"}, {row("tc2"), 3, "", "log; age=3"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("pages (-want +got):\n%s", diff)
		}
		if want := "/tasks?cursor=c1&label=team%3Da&limit=1&status=running&status=failed&view=row"; len(requests) != 3 || requests[1] != want {
			t.Errorf("requests %q, want 3, the second %s", requests, want)
		}
	}
}

func TestPagesEndAtAnErrorOrABreak(t *testing.T) {
	var count int
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if count++; r.URL.Query().Get("cursor") == "bad" {
			answering(http.StatusUnprocessableEntity, `{"detail":"cursor: no"}`)(w, r)
			return
		}
		answering(http.StatusOK, `{"tasks":[{"task_id":"a"}]}`, "X-Next-Cursor", "bad")(w, r)
	})
	var errs []error
	for _, err := range c.TaskPages(t.Context(), query.Tasks{}) {
		errs = append(errs, err)
	}
	if len(errs) != 2 || errs[0] != nil || errs[1] == nil || count != 2 {
		t.Errorf("%d requests, errors %v; want the error of the second request, and no third", count, errs)
	}
	count = 0
	for _, err := range c.TaskPages(t.Context(), query.Tasks{}) {
		if err != nil {
			t.Error(err)
		}
		break
	}
	if count != 1 {
		t.Errorf("%d requests, want 1", count)
	}
}

func TestSummaryAndCapacity(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body := map[string]string{
			"/summary?all_users=true": `{"total":2,"by_status":{"running":2},"by_reason":{},"by_user":{"ann":{"running":2}},"backlog":{"tasks":1,"oldest":"2026-01-02T03:04:05Z","tasks_per_second":1.5}}`,
			"/summary":                `{"total":0,"by_status":{},"by_reason":{},"backlog":{"tasks":0,"tasks_per_second":0}}`,
			"/capacity":               `{"known":true,"nodes":[{"name":"n1","allocatable":{"cpus":8},"requested":{"cpus":2.5},"free":{"cpus":5.5}}]}`,
		}[r.RequestURI]
		answering(http.StatusOK, body)(w, r)
	})
	oldest := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, o := range map[string]struct {
		call func(context.Context) (any, error)
		want any
	}{
		"all users": {func(ctx context.Context) (any, error) { return c.Summary(ctx, true) }, overview.Summary{
			Total: 2, ByStatus: overview.Counts{task.Running: 2}, ByReason: map[string]int{},
			ByUser: map[string]overview.Counts{"ann": {task.Running: 2}}, Backlog: overview.Backlog{Tasks: 1, Oldest: &oldest, Rate: 1.5},
		}},
		"one user": {func(ctx context.Context) (any, error) { return c.Summary(ctx, false) }, overview.Summary{
			ByStatus: overview.Counts{}, ByReason: map[string]int{},
		}},
		"capacity": {func(ctx context.Context) (any, error) { return c.Capacity(ctx) }, overview.Capacity{
			Known: true, Nodes: []overview.Node{{Name: "n1", Resources: overview.Resources{
				Allocatable: overview.Amounts{CPUs: 8}, Requested: overview.Amounts{CPUs: 2.5}, Free: overview.Amounts{CPUs: 5.5},
			}}},
		}},
	} {
		got, err := o.call(t.Context())
		if err != nil {
			t.Fatal(name, err)
		}
		if diff := cmp.Diff(o.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if age := (overview.Backlog{Oldest: &oldest}).Age(oldest.Add(time.Minute)); age != time.Minute {
		t.Errorf("the oldest task waits for %s, want 1m", age)
	}
	if age := (overview.Backlog{}).Age(oldest); age != 0 {
		t.Errorf("the oldest task of an empty backlog waits for %s", age)
	}
}

// TestQueriesOfListsAreParsedByTheServer checks that the server reads the parameters that the
// client writes.
func TestQueriesOfListsAreParsedByTheServer(t *testing.T) {
	var got query.Tasks
	var err error
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, err = query.Parse(r.URL.Query())
		answering(http.StatusOK, `{"tasks":[]}`)(w, r)
	})
	want := query.Tasks{
		AllUsers: true, User: "bob & co", Phases: []task.Phase{task.Failed}, Name: "a", NamePrefix: "b=&", NameContains: []string{"ü", "x"},
		GPUs: []string{"8"}, Machines: []string{"m"}, ExitCodes: []int{0, 1}, Points: []string{"A=1 b"}, Before: "1d", Not: &query.Tasks{Labels: []string{"a", "b"}, Group: "g"},
		Labels: []string{"team=x", "gpu"}, Reasons: []string{"OOMKilled", "Backlog"}, Since: "2d", Sort: "-ended", Limit: 7, Cursor: "abc", View: query.Row,
	}
	if _, err := c.RowPage(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("error %v, query (-want +got):\n%s", err, diff)
	}
}
