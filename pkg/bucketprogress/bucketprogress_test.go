package bucketprogress

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"k8s-cli/pkg/task"
)

// A cluster answers requests for logs and patches of pods as the API server does.
type cluster struct {
	mu      sync.Mutex
	logs    map[string]string // by pod
	reads   int
	patches []string
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.Method == http.MethodPatch {
		body, _ := io.ReadAll(r.Body)
		c.patches = append(c.patches, path.Base(r.URL.Path)+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Pod","apiVersion":"v1"}`)
		return
	}
	c.reads++
	text, found := c.logs[path.Base(strings.TrimSuffix(r.URL.Path, "/log"))]
	if q := r.URL.Query(); !found || q.Get("container") != task.BucketsContainer || q.Get("tailLines") != "1" {
		http.Error(w, "unexpected "+r.URL.String(), http.StatusBadRequest)
		return
	}
	fmt.Fprint(w, text)
}

// take returns the patches since the last call.
func (c *cluster) take() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.patches
	c.patches = nil
	slices.Sort(taken)
	return taken
}

type views map[string]task.View

func (v views) TaskView(id string) task.View { return v[id] }

func (v views) Keys() (all []task.Key) {
	for id := range v {
		all = append(all, task.Key{Kind: task.KindTask, ID: id})
	}
	return all
}

func viewOf(pods ...*task.Pod) task.View { return task.View{Record: &task.Record{}, Pods: pods} }

func podNamed(name, reason string) *task.Pod {
	return &task.Pod{Name: name, UID: "uid-" + name, Phase: task.Pending, Reason: reason}
}

func newPublisher(t *testing.T, c *cluster, v views) *Publisher {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	k8s, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	p := New(k8s, "tasks", v, slog.New(slog.DiscardHandler))
	p.begin(true)
	for _, key := range v.Keys() {
		p.Enqueue(key)
	}
	return p
}

func TestProgressIsPublished(t *testing.T) {
	c := &cluster{logs: map[string]string{"a-0": "fetched 1 GiB of 2 GiB\n", "a-1": "", "b-0": "list s3://data: \x1b[31mthe store"}}
	v := views{
		"a": viewOf(podNamed("a-0", task.ReasonCopying), podNamed("a-1", task.ReasonCopying), nil),
		"b": viewOf(podNamed("b-0", task.ReasonCopying)),
		"c": viewOf(podNamed("c-0", "PodInitializing")),
	}
	p := newPublisher(t, c, v)
	patch := func(pod, line string) string {
		return pod + ` {"metadata":{"annotations":{"skypilot-bucket-progress":"` + line + `"},"uid":"uid-` + pod + `"}}`
	}
	p.round(t.Context())
	if got, want := c.take(), []string{patch("a-0", "fetched 1 GiB of 2 GiB"), patch("b-0", "list s3://data: [31mthe store")}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p.round(t.Context()) // nothing is new
	if got := c.take(); len(got) > 0 {
		t.Errorf("published again: %q", got)
	}
	c.logs["a-0"] = "fetched 2 GiB of 2 GiB\n"
	v["b"] = viewOf(podNamed("b-0", ""))
	p.round(t.Context())
	if got, want := c.take(), []string{patch("a-0", "fetched 2 GiB of 2 GiB")}; !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	v["a"] = viewOf(podNamed("a-0", ""))
	before := c.reads
	p.round(t.Context())
	if c.reads != before || len(p.published) > 0 || len(p.tasks) > 0 {
		t.Errorf("after the copies: %d reads, remembers %v and %v", c.reads-before, p.published, p.tasks)
	}
}

// TestManyPods copies more buckets than one round reads.
func TestManyPods(t *testing.T) {
	c, v := &cluster{logs: map[string]string{}}, views{}
	for i := range 2*perRound + 5 {
		name := fmt.Sprintf("p%03d", i)
		c.logs[name], v[name] = "fetched all", viewOf(podNamed(name, task.ReasonCopying))
	}
	p := newPublisher(t, c, v)
	for range 3 {
		before := c.reads
		p.round(t.Context())
		if c.reads-before != perRound {
			t.Errorf("one round reads %d logs", c.reads-before)
		}
	}
	if got := len(c.take()); got != len(v) {
		t.Errorf("published for %d pods, want %d", got, len(v))
	}
}
