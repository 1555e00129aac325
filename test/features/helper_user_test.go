package features

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s-cli/pkg/client"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/taskfile"
	"k8s-cli/test/testkit"
)

// A user uses one server with package client, or with the CLI and a home directory of its
// own.
type user struct {
	*client.Client
	*server
	name string
	home string
}

// as returns a user of s.
func (s *server) as(t *testing.T, name string) *user {
	t.Helper()
	c := client.New(s.url, name).WrapTransport(func(next http.RoundTripper) http.RoundTripper { return contract{next, t} })
	t.Cleanup(c.Close)
	return &user{Client: c, server: s, name: name, home: t.TempDir()}
}

// parse returns the task of a task file.
func parse(t *testing.T, file string) task.Spec {
	t.Helper()
	parsed, _, err := taskfile.Parse([]byte(file))
	if err != nil {
		t.Fatalf("the task file of this test: %v\n%.500s", err, file)
	}
	return parsed
}

// endsAfter is the file of a task whose fake pod ends after a time.
func endsAfter(t string) string {
	return "run: 'true'\nconfig: {kubernetes: {pod_config: {metadata: {annotations: {pod-end.k8s-cli.local/after: " + t + "}}}}}"
}

// submit submits a task, written as a task file, and returns its id.
func (u *user) submit(t *testing.T, file string) string {
	t.Helper()
	got, err := u.Submit(t.Context(), parse(t, file))
	if err != nil {
		t.Fatalf("submit: %v", err)
	}
	return got.ID
}

// patchJob changes a Job as another client of the cluster does.
func (u *user) patchJob(t *testing.T, job, patch string) {
	t.Helper()
	if _, err := u.BatchV1().Jobs(u.namespace).Patch(t.Context(), job, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

// task returns the status of a task.
func (u *user) task(t *testing.T, id string) task.Status {
	t.Helper()
	s, err := u.Task(t.Context(), id)
	if err != nil {
		t.Fatalf("status of task %s: %v", id, err)
	}
	return s
}

// wantPhase checks the phase of a task at a moment of the test.
func (u *user) wantPhase(t *testing.T, id string, want task.Phase, when string) {
	t.Helper()
	if s := u.task(t, id); s.Phase != want {
		t.Errorf("%s task %s is %s, want %s", when, id, sketch(s), want)
	}
}

// tasks returns the ids of the user's tasks, newest first.
func (u *user) tasks(t *testing.T) (ids []string) {
	t.Helper()
	all, err := u.Tasks(t.Context(), false)
	if err != nil {
		t.Fatalf("list tasks: %v", err)
	}
	for _, s := range all {
		ids = append(ids, s.ID)
	}
	return ids
}

// await waits until a task is in this phase. Another final phase fails the test.
func (u *user) await(t *testing.T, id string, want task.Phase) task.Status {
	t.Helper()
	return u.awaitWhere(t, id, string(want), func(s task.Status) bool {
		if s.Phase != want && s.Phase.Over() {
			t.Fatalf("task %s is %s, want %s: %s", id, s.Phase, want, sketch(s))
		}
		return s.Phase == want
	})
}

// awaitWhere waits until the status of a task satisfies ok.
func (u *user) awaitWhere(t *testing.T, id, what string, ok func(task.Status) bool) (s task.Status) {
	t.Helper()
	eventually(t, "task "+id+" "+what, func() (string, bool) {
		s = u.task(t, id)
		return sketch(s), ok(s)
	})
	return s
}

func sketch(s task.Status) string {
	m := s.Metadata
	return fmt.Sprintf("%s (%s: %s), nodes: %d succeeded, %d failed, %d running, %d pending",
		s.Phase, m.Reason, m.Message, m.Succeeded, m.Failed, m.Running, m.Pending)
}

// stop stops a task.
func (u *user) stop(t *testing.T, id string) {
	t.Helper()
	if _, err := u.Stop(t.Context(), id); err != nil {
		t.Fatalf("stop task %s: %v", id, err)
	}
}

// log follows the log of a task until the task ends.
func (u *user) log(t *testing.T, id string, o client.LogOptions) string {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	var text bytes.Buffer
	if err := u.Logs(ctx, id, o, &text); err != nil {
		t.Fatalf("log of task %s: %v; so far: %.2000s", id, err, text.String())
	}
	return text.String()
}

// run submits a task, waits for its end and returns its log.
func (u *user) run(t *testing.T, file string) string {
	t.Helper()
	id := u.submit(t, file)
	text := u.log(t, id, client.LogOptions{})
	if s := u.task(t, id); s.Phase != task.Completed {
		t.Fatalf("the log of task %s has ended, and it is %s\n%s", id, sketch(s), text)
	}
	return text
}

// follow reads the log of a task in the background.
func (u *user) follow(t *testing.T, id string, o client.LogOptions) *reader {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	r := &reader{leave: cancel, ended: make(chan struct{})}
	go func() {
		defer close(r.ended)
		if r.err = u.Logs(ctx, id, o, r); r.err != nil {
			s, err := u.Task(context.WithoutCancel(ctx), id)
			r.state = fmt.Sprintf("the task is %s (%v)", sketch(s), err)
		}
	}()
	t.Cleanup(func() { cancel(); <-r.ended })
	return r
}

// A reader collects a text that grows.
type reader struct {
	leave context.CancelFunc
	ended chan struct{}
	err   error  // set once the text has ended
	state string // the status of the task at that time, if there is an error

	mu   sync.Mutex
	text bytes.Buffer
	more chan struct{} // closed when more text has arrived
}

func (r *reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Write(p)
	if r.more != nil {
		close(r.more)
		r.more = nil
	}
	return len(p), nil
}

func (r *reader) now() (text string, more <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.more == nil {
		r.more = make(chan struct{})
	}
	return r.text.String(), r.more
}

// awaitText waits until the text contains want.
func (r *reader) awaitText(t *testing.T, want string) {
	t.Helper()
	r.awaitWhere(t, fmt.Sprintf("%q", want), func(text string) bool { return strings.Contains(text, want) })
}

// awaitWhere waits until the text satisfies ok.
func (r *reader) awaitWhere(t *testing.T, what string, ok func(text string) bool) {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), patience)
	defer cancel()
	for {
		text, more := r.now()
		if ok(text) {
			return
		}
		select {
		case <-more:
		case <-r.ended:
			if text, _ = r.now(); !ok(text) {
				t.Fatalf("the text ended (%v) after %d bytes, without %s: %.2000q", r.err, len(text), what, text)
			}
			return
		case <-ctx.Done():
			t.Fatalf("no %s: %v; so far %d bytes: %.2000q", what, context.Cause(ctx), len(text), text)
		}
	}
}

// rest waits until the text ends, and returns all of it.
func (r *reader) rest(t *testing.T) string {
	t.Helper()
	<-r.ended
	text, _ := r.now()
	if r.err != nil {
		t.Fatalf("the text broke off: %v; %s; after %d bytes, which end with %q", r.err, r.state, len(text), text[max(len(text)-300, 0):])
	}
	return text
}

var _ io.Writer = (*reader)(nil)
