package logs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

const testTimeout = 20 * time.Second // limit of one wait, as in testkit.WithPatience

// A fakeTasks is a store with one task that a test changes.
type fakeTasks struct {
	mu      sync.Mutex
	view    task.View
	changed chan struct{}
	listen  func(task.Key)
}

func newFakeTasks(nodes int) *fakeTasks {
	return &fakeTasks{changed: make(chan struct{}), view: task.View{
		Record: &task.Record{Submit: task.Submit{ID: "a", Task: task.Spec{NumNodes: nodes}}, Phase: task.Running},
		Pods:   make([]*task.Pod, nodes), Jobs: make([]*task.Job, nodes),
	}}
}

// withPod returns a store whose task has one node. The pod has the phase of the task.
func withPod(phase task.Phase) *fakeTasks {
	s := newFakeTasks(1)
	s.set(0, pod(0, phase), phase)
	return s
}

func (s *fakeTasks) TaskView(id string) task.View {
	v, _ := s.WatchTask(id)
	return v
}

func (s *fakeTasks) Keys() []task.Key { return []task.Key{{Kind: task.KindTask, ID: "a"}} }

func (s *fakeTasks) WatchTask(id string) (task.View, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id != "a" {
		return task.View{}, nil
	}
	return s.view, s.changed
}

// set sets the pod of a node and the phase of the task.
func (s *fakeTasks) set(rank int, p *task.Pod, phase task.Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Pods = slices.Clone(s.view.Pods)
	if s.view.Pods[rank] = p; phase != s.view.Phase {
		r := *s.view.Record
		r.Phase = phase
		s.view.Record = &r
	}
	s.notify()
}

// setJob sets the Job of the first node.
func (s *fakeTasks) setJob(job *task.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.view.Jobs = []*task.Job{job}
	s.notify()
}

func (s *fakeTasks) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
	if s.listen != nil {
		s.listen(task.Key{Kind: task.KindTask, ID: "a"})
	}
}

func pod(rank int, phase task.Phase) *task.Pod {
	name := fmt.Sprintf("pod-%d", rank)
	return &task.Pod{Name: name, UID: name, Rank: rank, Phase: phase, Readable: phase != task.Pending}
}

// A cluster answers requests for logs. handle gets the name of the pod and the number of
// the request for this pod, from 1.
type cluster struct {
	*Tailer
	mu      sync.Mutex
	asked   map[string]int
	queries []string
}

func serve(t *testing.T, projection Projection, handle func(w http.ResponseWriter, pod string, n int)) *cluster {
	t.Helper()
	c := &cluster{asked: map[string]int{}}
	c.Tailer = tailerOf(t, projection, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/api/v1/namespaces/default/pods/"), "/log")
		c.mu.Lock()
		c.asked[name]++
		n := c.asked[name]
		c.queries = append(c.queries, r.URL.RawQuery)
		c.mu.Unlock()
		handle(w, name, n)
	}))
	return c
}

// tailerOf returns a Tailer whose API server is a handler.
func tailerOf(t *testing.T, projection Projection, api http.Handler) *Tailer {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	k8s, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	must.Succeed(t, err)
	return New(k8s, "default", projection, nil, slog.New(slog.DiscardHandler))
}

func (c *cluster) asks() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.queries)
}

// tail returns what Tail writes until it ends.
func (c *cluster) tail(t *testing.T, o task.LogOptions) (string, error) {
	t.Helper()
	ctx, cancel := testkit.WithPatience(t.Context(), testTimeout)
	defer cancel()
	var out bytes.Buffer
	err := c.Tail(ctx, "a", o, bufio.NewWriter(&out))
	return out.String(), err
}

func send(w http.ResponseWriter, text string) {
	_, _ = io.WriteString(w, text)
	w.(http.Flusher).Flush()
}

// The last line counts as a line of the tail although it has no newline.
func TestTheTailOfALogWithoutALastNewline(t *testing.T) {
	lines := []string{at(1) + "one\n", at(2) + "two\n", at(3) + "thr"}
	w := serve(t, withPod(task.Completed), nil)
	w.Tailer = tailerOf(t, withPod(task.Completed), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.URL.Query().Get("tailLines"))
		if err != nil || n > len(lines) {
			n = len(lines)
		}
		send(w, strings.Join(lines[len(lines)-n:], ""))
	}))
	for n, want := range []string{"", "thr\n", "two\nthr\n", "one\ntwo\nthr\n", "one\ntwo\nthr\n"} {
		for _, follow := range []bool{false, true} {
			if out, err := w.tail(t, task.LogOptions{Tail: new(int64(n)), Follow: follow}); err != nil || out != want {
				t.Errorf("%d lines, follow %v: %q, %v, want %q", n, follow, out, err, want)
			}
		}
	}
}

func TestTheLogOfATaskThatIsOver(t *testing.T) {
	s := withPod(task.Completed)
	c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) { send(w, at(1)+"one\n"+at(2)+"two\n") })
	if out, err := c.tail(t, task.LogOptions{Follow: true}); err != nil || out != "one\ntwo\n" {
		t.Errorf("%q, %v", out, err)
	}
	if got := c.asks(); len(got) != 1 {
		t.Errorf("requests %q", got)
	}
}

func TestSeveralNodesArePrefixed(t *testing.T) {
	s := newFakeTasks(2)
	for rank := range 2 {
		s.set(rank, pod(rank, task.Completed), task.Completed)
	}
	c := serve(t, s, func(w http.ResponseWriter, pod string, _ int) { send(w, at(1)+"of "+pod+"\n"+at(2)+"done\n") })
	out, err := c.tail(t, task.LogOptions{Follow: true})
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	slices.Sort(got)
	want := []string{"node-0 | done", "node-0 | of pod-0", "node-1 | done", "node-1 | of pod-1"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", out, err)
	}
	out, err = c.tail(t, task.LogOptions{Follow: true, Node: new(1)})
	if err != nil || out != "node-1 | of pod-1\nnode-1 | done\n" {
		t.Errorf("one node alone: %q, %v", out, err)
	}
}

func TestOptionsReachTheCluster(t *testing.T) {
	s := withPod(task.Completed)
	c := serve(t, s, func(http.ResponseWriter, string, int) {})
	for _, tt := range []struct {
		o    task.LogOptions
		want string
	}{
		{task.LogOptions{}, "timestamps=true"},
		{task.LogOptions{Follow: true}, "timestamps=true"},
		// the stream needs at least one line to know its position
		{task.LogOptions{Follow: true, Tail: new(int64(0))}, "tailLines=2&timestamps=true"},
		{task.LogOptions{Resume: map[int]time.Time{0: time.Unix(1e9, 0)}, Tail: new(int64(7))}, "sinceTime=2001-09-09T01%3A46%3A40Z&timestamps=true"},
		{task.LogOptions{Tail: new(int64(7)), Since: 90 * time.Second}, "sinceSeconds=90&tailLines=8&timestamps=true"},
		{task.LogOptions{Since: time.Millisecond}, "sinceSeconds=1&timestamps=true"},
	} {
		if _, err := c.tail(t, tt.o); err != nil {
			t.Fatal(err)
		}
		if asks := c.asks(); asks[len(asks)-1] != tt.want {
			t.Errorf("%+v: %s, want %s", tt.o, asks[len(asks)-1], tt.want)
		}
	}
}

func TestALogIsFollowedFromBeforeItsPodToItsEnd(t *testing.T) {
	s := newFakeTasks(1)
	reading, end := make(chan struct{}), make(chan struct{})
	c := serve(t, s, func(w http.ResponseWriter, _ string, n int) {
		send(w, at(1)+"one\n")
		if n == 1 {
			close(reading)
			<-end
		}
		send(w, at(2)+"two\n")
	})
	type result struct {
		out string
		err error
	}
	done := make(chan result, 1)
	go func() {
		out, err := c.tail(t, task.LogOptions{Follow: true})
		done <- result{out, err}
	}()
	s.set(0, pod(0, task.Pending), task.Running) // the pod is not readable yet
	s.set(0, pod(0, task.Running), task.Running)
	<-reading
	s.set(0, pod(0, task.Completed), task.Running)
	s.set(0, pod(0, task.Completed), task.Completed)
	close(end)
	if r := <-done; r.err != nil || r.out != "one\ntwo\n" {
		t.Errorf("%q, %v", r.out, r.err)
	}
}

func TestAConnectionThatBreaksIsTakenUpAgain(t *testing.T) {
	t.Parallel()
	s := withPod(task.Completed)
	c := serve(t, s, func(w http.ResponseWriter, _ string, n int) {
		send(w, at(1)+"one\n")
		if n == 1 {
			send(w, at(2)+"tw")
			panic(http.ErrAbortHandler)
		}
		send(w, at(2)+"two\n")
	})
	if out, err := c.tail(t, task.LogOptions{Follow: true}); err != nil || out != "one\ntwo\n" {
		t.Errorf("%q, %v", out, err)
	}
	want := []string{"timestamps=true", "sinceTime=2025-10-05T11%3A59%3A59Z&timestamps=true"}
	if got := c.asks(); !slices.Equal(got, want) {
		t.Errorf("requests %q, want %q", got, want)
	}
}

func TestATailEndsWithItsReader(t *testing.T) {
	s := withPod(task.Running)
	c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) { send(w, at(1)+"one\n") })
	left := errors.New("broken pipe")
	if err := c.Tail(t.Context(), "a", task.LogOptions{Follow: true}, bufio.NewWriter(failing{left})); !errors.Is(err, left) {
		t.Errorf("error %v", err)
	}
}

func TestATailEndsWithItsContext(t *testing.T) {
	s := withPod(task.Running)
	reading := make(chan struct{})
	gone := make(chan struct{})
	c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) {
		send(w, at(1)+"one\n")
		close(reading)
		<-gone
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Tail(ctx, "a", task.LogOptions{Follow: true}, bufio.NewWriter(io.Discard)) }()
	<-reading
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(gone)
}

func TestATaskThatIsNotThere(t *testing.T) {
	c := serve(t, newFakeTasks(1), nil)
	if err := c.Tail(t.Context(), "b", task.LogOptions{}, bufio.NewWriter(io.Discard)); !errors.Is(err, problem.NotFound) {
		t.Errorf("error %v", err)
	}
}

func TestWithoutFollowNothingIsWaitedFor(t *testing.T) {
	s := newFakeTasks(2)
	s.set(0, pod(0, task.Running), task.Running)
	c := serve(t, s, func(w http.ResponseWriter, _ string, _ int) { send(w, at(1)+"one\n") })
	if out, err := c.tail(t, task.LogOptions{}); err != nil || out != "node-0 | one\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestANodeThatTheTaskDoesNotHave(t *testing.T) {
	tailer := New(kubernetes.New(nil), "default", newFakeTasks(2), nil, slog.New(slog.DiscardHandler))
	for _, tt := range []struct {
		node *int
		ok   bool
	}{{nil, true}, {new(1), true}, {new(2), false}} {
		if err := tailer.Check("a", task.LogOptions{Node: tt.node}); (err == nil) != tt.ok || err != nil && !errors.Is(err, problem.Invalid) {
			t.Errorf("node %v: %v", tt.node, err)
		}
	}
	if err := tailer.Check("b", task.LogOptions{}); !errors.Is(err, problem.NotFound) {
		t.Errorf("a task that is not there: %v", err)
	}
}
