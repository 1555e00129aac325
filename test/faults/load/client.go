// Package load contains the clients of a run: users with unusual names who send requests to
// all servers. The package records every request and answer.
package load

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"k8s-cli/pkg/task"
	"k8s-cli/test/faults/history"
	"k8s-cli/test/testkit"
)

// Users have names that are similar to each other, or that a server may misinterpret.
var Users = []string{
	"a@b", "a-b", "A", "a", strings.Repeat("x", 253), strings.Repeat("x", 252) + "y", "a.b", "*", ">", "a.>", "with two  blanks", "🦊 ünïcode", "ann@example.com", "-", "'\"$(id)`;--",
}

// A Target is the name and the URL of a server.
type Target struct{ Name, URL string }

// A Client sends requests for one user and records them.
type Client struct {
	Number   int
	User     string
	Recorder *history.Recorder
	HTTP     *http.Client
}

// NewHTTP returns the HTTP client that all clients share. NewHTTP sets the connections and
// the timeouts.
func NewHTTP() *http.Client {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	return &http.Client{
		Timeout:   12 * time.Second, // longer than the server takes to answer 503
		Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 256, IdleConnTimeout: time.Minute},
	}
}

// Submit submits a task once. The name of the task is unique to the submission.
func (c *Client) Submit(ctx context.Context, at Target, t task.Spec, key string) history.Op {
	op := history.Op{Kind: history.Submit, Name: t.Name, Key: key}
	return c.ask(ctx, at, op, http.MethodPost, "/tasks/submit", t, reading(func(a task.Submitted, op *history.Op) {
		op.Got = a.ID
	}))
}

// An Item is one task of a submission of several tasks. After holds the names of its
// predecessors among these tasks.
type Item struct {
	task.Spec

	Key   string   `json:"idempotency_key"`
	After []string `json:"after,omitempty"` // keys on the wire
}

// keyOf returns the idempotency key of a task with a unique name.
func keyOf(name string) string { return "k-" + name }

// SubmitTogether submits tasks that the server accepts all or none of, once. SubmitTogether
// records one operation for each task and returns the operations.
func (c *Client) SubmitTogether(ctx context.Context, at Target, items []Item) []history.Op {
	all := history.Op{Kind: history.Submit, Client: c.Number, User: c.User, Pod: at.Name}
	if ctx.Err() != nil {
		all.Err = ctx.Err().Error()
		return []history.Op{all}
	}
	ids := make([]string, len(items))
	body := make([]Item, len(items))
	for i, item := range items {
		body[i] = item
		body[i].After = nil
		for _, name := range item.After {
			body[i].After = append(body[i].After, keyOf(name))
		}
	}
	all.Begin = c.Recorder.Now()
	c.send(context.WithoutCancel(ctx), at, &all, http.MethodPost, "/tasks/batch?atomic=true", body, func(raw []byte, _ *history.Op) error {
		var a task.Batch
		if err := json.Unmarshal(raw, &a); err != nil {
			return err
		}
		if len(a.Results) != len(items) || a.Failed > 0 {
			return fmt.Errorf("%d results for %d tasks, %d failed", len(a.Results), len(items), a.Failed)
		}
		for i, r := range a.Results {
			ids[i] = r.ID
		}
		return nil
	})
	all.End = c.Recorder.Now()
	ops := make([]history.Op, len(items))
	for i, item := range items {
		ops[i] = all
		ops[i].Name, ops[i].Key, ops[i].After, ops[i].Got = item.Name, item.Key, item.After, ids[i]
		c.Recorder.Op(ops[i])
	}
	return ops
}

// Status gets one task.
func (c *Client) Status(ctx context.Context, at Target, id string) history.Op {
	op := history.Op{Kind: history.Status, ID: id}
	return c.ask(ctx, at, op, http.MethodGet, "/tasks/"+id, nil, reading(func(a task.Status, op *history.Op) {
		op.Got, op.Seen = a.ID, []history.Seen{seen(a)}
	}))
}

// A Narrow filters a list. The zero Narrow is the complete list of the user.
type Narrow struct {
	Name     string
	Limit    int
	AllUsers bool
	Last     bool // records that the system is at rest

	Start time.Duration // records that the server was started then and that this is its first list
}

// List lists tasks.
func (c *Client) List(ctx context.Context, at Target, n Narrow) history.Op {
	op := history.Op{Kind: history.List, Name: n.Name, Wide: n.AllUsers, Whole: n.Name == "" && n.Limit == 0, Last: n.Last, Start: n.Start}
	path := fmt.Sprintf("/tasks?all_users=%t", n.AllUsers)
	if n.Name != "" {
		path += "&name=" + n.Name
	}
	if n.Limit > 0 {
		path += fmt.Sprintf("&limit=%d", n.Limit)
	}
	return c.ask(ctx, at, op, http.MethodGet, path, nil, reading(func(a task.List, op *history.Op) {
		for _, s := range a.Tasks {
			op.Seen = append(op.Seen, seen(s))
		}
	}))
}

// Open lists all tasks of all users in one phase. Open does not record the request, because
// the harness sends it and not a user.
func (c *Client) Open(ctx context.Context, at Target, phase string) history.Op {
	var op history.Op
	c.send(ctx, at, &op, http.MethodGet, "/tasks?all_users=true&status="+phase, nil, reading(func(a task.List, op *history.Op) {
		for _, s := range a.Tasks {
			op.Seen = append(op.Seen, seen(s))
		}
	}))
	return op
}

func seen(s task.Status) history.Seen {
	return history.Seen{
		ID: s.ID, Name: s.Name, User: s.Metadata.User, Phase: string(s.Phase), Created: s.CreatedAt.Format(time.RFC3339Nano), Reason: s.Metadata.Reason,
	}
}

// Stop stops one task.
func (c *Client) Stop(ctx context.Context, at Target, id string) history.Op {
	return c.ask(ctx, at, history.Op{Kind: history.Stop, ID: id}, http.MethodPost, "/tasks/"+id+"/stop", nil, reading(func(a task.StopResponse, op *history.Op) {
		op.Got = a.ID
	}))
}

// StopAll stops all tasks of the user.
func (c *Client) StopAll(ctx context.Context, at Target) history.Op {
	return c.ask(ctx, at, history.Op{Kind: history.StopAll}, http.MethodPost, "/tasks/stop", nil, reading(func(a task.StopAllResponse, op *history.Op) {
		op.Count = a.Count
	}))
}

// Create creates a volume. The name of the volume is unique to the creation.
func (c *Client) Create(ctx context.Context, at Target, v task.Volume, key string) history.Op {
	op := history.Op{Kind: history.Create, Name: v.Name, Key: key}
	return c.ask(ctx, at, op, http.MethodPost, "/volumes/create", v, reading(func(a task.Created, op *history.Op) {
		op.Got = a.ID
	}))
}

// Volume gets one volume.
func (c *Client) Volume(ctx context.Context, at Target, id string) history.Op {
	return c.ask(ctx, at, history.Op{Kind: history.Volume, ID: id}, http.MethodGet, "/volumes/"+id, nil, reading(func(a task.VolumeStatus, op *history.Op) {
		op.Got, op.Seen = a.ID, []history.Seen{seenVolume(a)}
	}))
}

// Volumes lists all volumes of the user, or of all users.
func (c *Client) Volumes(ctx context.Context, at Target, n Narrow) history.Op {
	op := history.Op{Kind: history.Volumes, Whole: true, Wide: n.AllUsers, Last: n.Last}
	return c.ask(ctx, at, op, http.MethodGet, fmt.Sprintf("/volumes?all_users=%t", n.AllUsers), nil, reading(func(a task.VolumeList, op *history.Op) {
		for _, v := range a.Volumes {
			op.Seen = append(op.Seen, seenVolume(v))
		}
	}))
}

func seenVolume(v task.VolumeStatus) history.Seen {
	return history.Seen{
		ID: v.ID, Name: v.Name, User: v.Metadata.User, Phase: v.Phase, Created: v.CreatedAt.Format(time.RFC3339Nano), Reason: v.Metadata.Reason,
	}
}

// Delete deletes one volume.
func (c *Client) Delete(ctx context.Context, at Target, id string) history.Op {
	return c.ask(ctx, at, history.Op{Kind: history.Delete, ID: id}, http.MethodDelete, "/volumes/"+id, nil, reading(func(a task.Deleted, op *history.Op) {
		op.Got = a.ID
	}))
}

// ask sends one request and records it with its answer. ask waits for the answer even if ctx
// ends meanwhile; ctx only prevents new requests.
func (c *Client) ask(ctx context.Context, at Target, op history.Op, method, path string, body any, decode func([]byte, *history.Op) error) history.Op {
	if ctx.Err() != nil {
		op.Err = ctx.Err().Error()
		return op
	}
	op.Client, op.User, op.Pod = c.Number, c.User, at.Name
	op.Begin = c.Recorder.Now()
	c.send(context.WithoutCancel(ctx), at, &op, method, path, body, decode)
	op.End = c.Recorder.Now()
	c.Recorder.Op(op)
	return op
}

// reading returns a function that decodes an answer and passes it to take.
func reading[A any](take func(a A, op *history.Op)) func([]byte, *history.Op) error {
	return func(body []byte, op *history.Op) error {
		var a A
		err := json.Unmarshal(body, &a)
		take(a, op)
		return err
	}
}

func (c *Client) send(ctx context.Context, at Target, op *history.Op, method, path string, body any, decode func([]byte, *history.Op) error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = task.Marshal(body); err != nil {
			op.Err = err.Error()
			return
		}
	}
	header := []string{"X-User", c.User}
	if op.Key != "" {
		header = append(header, "Idempotency-Key", op.Key)
	}
	answer, err := testkit.Send(ctx, c.HTTP, testkit.Request{Method: method, URL: at.URL + path, Body: data, Header: header})
	if err != nil {
		op.Err = err.Error() // a truncated answer counts as no answer
		return
	}
	op.Code = answer.Code
	op.Stale = answer.Header.Get("X-Stale")
	op.Retry = answer.Header.Get("Retry-After") != ""
	if !op.OK() {
		var detail task.Detail
		_ = json.Unmarshal(answer.Body, &detail)
		op.Err = detail.Detail
		return
	}
	if err := decode(answer.Body, op); err != nil {
		op.Err = "not as documented: " + err.Error()
	}
}
