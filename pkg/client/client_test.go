package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/group"
	"k8s-cli/pkg/task/overview"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/pkg/task/query"
	"k8s-cli/test/testkit/must"
)

// serve returns a client of user ann for a server with the given handler.
func serve(t *testing.T, handle http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	c := New(server.URL+"/", "ann@example.com")
	t.Cleanup(c.Close)
	return c
}

// answering returns a handler with a constant response.
func answering(code int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

// An operation is one method of the client, with the expected request and the expected
// result.
type operation struct {
	name    string
	call    func(context.Context, *Client) (any, error)
	request string // method, path and body
	answer  string
	want    any
	keyed   bool
}

var operations = []operation{
	{
		name:    "health",
		call:    func(ctx context.Context, c *Client) (any, error) { return nil, c.Health(ctx) },
		request: "GET / ",
		answer:  `{"status": "ok", "service": "k8s-cli-api"}`,
	},
	{
		name: "submit many",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.SubmitEach(ctx, []Item{{Spec: task.Spec{Run: "a"}}, {Spec: task.Spec{Run: "b"}}})
		},
		request: `POST /tasks/batch [{"run":"a"},{"run":"b"}]`,
		answer:  `{"results": [{"task_id": "t1", "status": "submitted"}, {"code": 422, "detail": "no"}], "submitted": 1, "failed": 1}`,
		want:    []task.BatchResult{{ID: "t1", Status: "submitted"}, {Code: 422, Detail: "no"}},
		keyed:   true,
	},
	{
		name: "submit",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.Submit(ctx, task.Spec{Name: "train", Envs: map[string]string{"A": "$B"}, Run: "true"})
		},
		request: `POST /tasks/submit {"name":"train","envs":{"A":"$B"},"run":"true"}`,
		answer:  `{"task_id": "abc12345", "status": "submitted", "message": "fine", "warnings": ["resources.ports: ignored"], "new": 1}`,
		want:    task.Submitted{ID: "abc12345", Status: "submitted", Message: "fine", Warnings: []string{"resources.ports: ignored"}},
		keyed:   true,
	},
	{
		name: "submit to a group",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.SubmitToGroup(ctx, group.Membership{Group: "g", MaxParallel: 3, FailFast: true}, task.Spec{Run: "true"})
		},
		request: `POST /tasks/submit?fail_fast=true&group=g&max_parallel=3 {"run":"true"}`,
		answer:  `{"task_id": "abc12345"}`,
		want:    task.Submitted{ID: "abc12345"},
		keyed:   true,
	},
	{
		name: "submit many to groups",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.SubmitItems(ctx, []Item{{Spec: task.Spec{Run: "a"}, Membership: group.Membership{Group: "g", MaxParallel: 2}}, {Spec: task.Spec{Run: "b"}}})
		},
		request: `POST /tasks/batch [{"run":"a","group":"g","max_parallel":2},{"run":"b"}]`,
		answer:  `{"results": [{"task_id": "t1"}, {"task_id": "t2"}]}`,
		want:    []task.BatchResult{{ID: "t1"}, {ID: "t2"}},
		keyed:   true,
	},
	{
		name:    "group",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Group(ctx, "a.b") },
		request: "GET /groups/a.b ",
		answer:  `{"group": "a.b", "status": "running", "total": 2, "by_status": {"running": 1, "failed": 1}, "first_failure": {"task_id": "t1", "exit_code": 3}}`,
		want: group.Group{
			Name: "a.b", Phase: task.Running, Total: 2, ByStatus: overview.Counts{task.Running: 1, task.Failed: 1},
			First: &group.Failure{ID: "t1", ExitCode: new(3)},
		},
	},
	{
		name: "groups",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.Groups(ctx, GroupQuery{AllUsers: true, Limit: 2, Cursor: "9"})
		},
		request: "GET /groups?all_users=true&cursor=9&limit=2 ",
		answer:  `{"groups": [{"group": "b"}]}`,
		want:    Page[group.Group]{Items: []group.Group{{Name: "b"}}},
	},
	{
		name:    "stop a group",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.StopGroup(ctx, "g") },
		request: "POST /tasks/stop?group=g ",
		answer:  `{"count": 5, "status": "stopped", "message": "Stopped 5 tasks"}`,
		want:    task.NewStopAllResponse(5, false),
		keyed:   true,
	},
	{
		name:    "task",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Task(ctx, "abc12345") },
		request: "GET /tasks/abc12345 ",
		answer:  `{"task_id": "abc12345", "status": "running", "created_at": "2026-01-02T03:04:05.678Z", "metadata": {"num_nodes": 2}}`,
		want: task.Status{
			ID: "abc12345", Phase: task.Running, Metadata: task.Metadata{NumNodes: 2},
			CreatedAt: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC),
		},
	},
	{
		name:    "an id is escaped",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Task(ctx, "a b?c%2f#é") },
		request: "GET /tasks/a%20b%3Fc%252f%23%C3%A9 ",
		answer:  `{"task_id": "a b?c%2f#é"}`,
		want:    task.Status{ID: "a b?c%2f#é"},
	},
	{
		name:    "tasks",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Tasks(ctx, false) },
		request: "GET /tasks ",
		answer:  `{"tasks": [{"task_id": "b"}, {"task_id": "a"}]}`,
		want:    []task.Status{{ID: "b"}, {ID: "a"}},
	},
	{
		name:    "tasks of all users",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Tasks(ctx, true) },
		request: "GET /tasks?all_users=true ",
		answer:  `{"tasks": []}`,
		want:    []task.Status{},
	},
	{
		name:    "stop",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Stop(ctx, "abc12345") },
		request: "POST /tasks/abc12345/stop ",
		answer:  `{"task_id": "abc12345", "status": "stopped", "message": "done"}`,
		want:    task.StopResponse{ID: "abc12345", Status: "stopped", Message: "done"},
		keyed:   true,
	},
	{
		name:    "stop all",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.StopAll(ctx, false) },
		request: "POST /tasks/stop ",
		answer:  `{"count": 5, "status": "stopped", "message": "Stopped 5 tasks"}`,
		want:    task.NewStopAllResponse(5, false),
		keyed:   true,
	},
	{
		name:    "stop all of all users",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.StopAll(ctx, true) },
		request: "POST /tasks/stop?all_users=true ",
		answer:  `{"count": 5, "status": "stopped", "message": "Stopped 5 tasks for all users"}`,
		want:    task.NewStopAllResponse(5, true),
		keyed:   true,
	},
	{
		name: "stop by filters",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.StopTasks(ctx, query.Tasks{NamePrefix: "train-", Phases: []task.Phase{task.Pending}, Not: &query.Tasks{Labels: []string{"keep"}}})
		},
		request: "POST /tasks/stop?name_prefix=train-&not_label=keep&status=pending ",
		answer:  `{"count": 5, "status": "stopped", "message": "Stopped 5 tasks"}`,
		want:    task.NewStopAllResponse(5, false),
		keyed:   true,
	},
	{
		name: "create a volume",
		call: func(ctx context.Context, c *Client) (any, error) {
			return c.CreateVolume(ctx, task.Volume{Name: "data", Size: "10Gi"})
		},
		request: `POST /volumes/create {"name":"data","size":"10Gi"}`,
		answer:  `{"volume_id": "0a1b2c3d", "status": "created", "message": "fine"}`,
		want:    task.Created{ID: "0a1b2c3d", Status: "created", Message: "fine"},
		keyed:   true,
	},
	{
		name:    "volume",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Volume(ctx, "0a1b2c3d") },
		request: "GET /volumes/0a1b2c3d ",
		answer:  `{"volume_id": "0a1b2c3d", "storage_class": null, "status": "Pending"}`,
		want:    task.VolumeStatus{ID: "0a1b2c3d", Phase: task.VolumePending},
	},
	{
		name:    "volumes",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.Volumes(ctx, true) },
		request: "GET /volumes?all_users=true ",
		answer:  `{"volumes": [{"volume_id": "0a1b2c3d", "storage_class": "fast"}]}`,
		want:    []task.VolumeStatus{{ID: "0a1b2c3d", StorageClass: new("fast")}},
	},
	{
		name:    "delete a volume",
		call:    func(ctx context.Context, c *Client) (any, error) { return c.DeleteVolume(ctx, "0a1b2c3d") },
		request: "DELETE /volumes/0a1b2c3d ",
		answer:  `{"volume_id": "0a1b2c3d", "status": "deleted", "message": "done"}`,
		want:    task.Deleted{ID: "0a1b2c3d", Status: "deleted", Message: "done"},
		keyed:   true,
	},
}

func TestOperations(t *testing.T) {
	for _, o := range operations {
		t.Run(o.name, func(t *testing.T) {
			var request string
			var header http.Header
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				request, header = r.Method+" "+r.RequestURI+" "+string(body), r.Header
				answering(http.StatusOK, o.answer)(w, r)
			})
			got, err := o.call(t.Context(), c)
			must.Succeed(t, err)
			if diff := cmp.Diff(o.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if request != o.request {
				t.Errorf("request\n got %s\nwant %s", request, o.request)
			}
			if got := header.Values("X-User"); len(got) != 1 || got[0] != "ann@example.com" {
				t.Errorf("X-User: %q", got)
			}
			if keyed := len(header.Get("Idempotency-Key")) > 20; keyed != o.keyed {
				t.Errorf("Idempotency-Key is %q, want one: %t", header.Get("Idempotency-Key"), o.keyed)
			}
		})
	}
}

func TestKeysDiffer(t *testing.T) {
	keys := map[string]bool{}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		keys[r.Header.Get("Idempotency-Key")] = true
		answering(http.StatusOK, `{}`)(w, r)
	})
	for range 3 {
		if _, err := c.Submit(t.Context(), task.Spec{Run: "true"}); err != nil {
			t.Fatal(err)
		}
	}
	if len(keys) != 3 {
		t.Errorf("3 submissions used %d keys", len(keys))
	}
}

func TestGzip(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			t.Error("the client takes no gzip")
		}
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(gzipped(t, `{"tasks": [{"task_id": "a"}]}`))
	})
	got, err := c.Tasks(t.Context(), false)
	if err != nil || len(got) != 1 || got[0].ID != "a" {
		t.Errorf("Tasks = %v, %v", got, err)
	}
}

func TestHealthOfAnotherService(t *testing.T) {
	err := serve(t, answering(http.StatusOK, `{"status": "ok", "service": "other"}`)).Health(t.Context())
	if err == nil || !strings.Contains(err.Error(), `service "other"`) {
		t.Errorf("Health = %v", err)
	}
}

// TestInvalidIDsCauseNoRequest checks that an invalid id causes no request: POST /tasks//stop would stop all
// tasks.
func TestInvalidIDsCauseNoRequest(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("the client asked %s", r.RequestURI) })
	for _, id := range []string{"", ".", "..", "a/b", "x/..", `a\b`} {
		for name, call := range map[string]func() error{
			"Task":         func() error { _, err := c.Task(t.Context(), id); return err },
			"Stop":         func() error { _, err := c.Stop(t.Context(), id); return err },
			"Logs":         func() error { return c.Logs(t.Context(), id, LogOptions{}, io.Discard) },
			"Volume":       func() error { _, err := c.Volume(t.Context(), id); return err },
			"DeleteVolume": func() error { _, err := c.DeleteVolume(t.Context(), id); return err },
		} {
			if err := call(); !errors.Is(err, problem.NotFound) {
				t.Errorf("%s(%q) = %v, want not found", name, id, err)
			}
		}
	}
}

// TestWrongAnswers checks that an answer about another object is an error.
func TestWrongAnswers(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			_, _ = io.WriteString(w, "id: 2.1\ndata: {\"kind\": \"task\", \"task_id\": \"other\"}\n\n")
			return
		}
		_, _ = io.WriteString(w, `{"task_id": "other", "volume_id": "other", "group": "other"}`)
	})
	for name, call := range map[string]func() error{
		"Task":         func() error { return second(c.Task(t.Context(), "abc")) },
		"Stop":         func() error { return second(c.Stop(t.Context(), "abc")) },
		"Group":        func() error { return second(c.Group(t.Context(), "abc")) },
		"Volume":       func() error { return second(c.Volume(t.Context(), "abc")) },
		"DeleteVolume": func() error { return second(c.DeleteVolume(t.Context(), "abc")) },
		"Subscribe": func() error {
			stream, err := c.Subscribe(t.Context(), EventSource{Key: task.Key{Kind: task.KindTask, ID: "abc"}})
			if err != nil {
				return err
			}
			defer stream.Close()
			return second(stream.Next())
		},
	} {
		if err := call(); !errors.Is(err, ErrWrongAnswer) || !strings.Contains(err.Error(), `"abc" and answered about "other"`) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
