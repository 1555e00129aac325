package api

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s-cli/pkg/api/slots"
	"k8s-cli/pkg/task"
)

// fakeUsage counts submissions and uploads, which never end.
type fakeUsage struct {
	mu      sync.Mutex
	has     task.Usage
	uploads map[string]int64
	keys    map[string]bool
}

func (u *fakeUsage) Usage(string) task.Usage {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.has
}

func (u *fakeUsage) UploadSize(_, sum string) int64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.uploads[sum]
}

func (u *fakeUsage) Submitted(_, key string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.keys[key]
}

// take implements fake.verdict.
func (u *fakeUsage) take(c task.Command) (task.Result, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case c.Submit != nil:
		u.has.Active++
		u.keys[c.Submit.Key] = true
		return task.Result{ID: c.Submit.ID}, nil
	case c.Upload != nil:
		u.has.UploadBytes += c.Upload.Size - u.uploads[c.Upload.Sum]
		u.uploads[c.Upload.Sum] = c.Upload.Size
	}
	return task.Result{}, nil
}

func limited(t *testing.T, most task.UserLimits) (*served, *fakeUsage) {
	m := &fakeUsage{uploads: map[string]int64{}, keys: map[string]bool{}}
	f := &fake{verdict: m.take}
	return serveWith(t, f, func(c *Config) {
		c.UserLimits, c.Usage = most, m
		c.Uploads = Uploads{Store: fakeUploads{}, Limit: 1 << 20, Advertise: "http://here", Tokens: sealer}
	}), m
}

// fakeUploads is a Store that discards everything.
type fakeUploads struct{}

func (fakeUploads) Store(_ context.Context, _ string, r io.Reader) (int64, error) {
	return io.Copy(io.Discard, r)
}
func (fakeUploads) Exists(context.Context, string) (bool, error) { return true, nil }
func (fakeUploads) Open(context.Context, string) io.Reader       { return strings.NewReader("") }

const small = `{"run":"true"}`

func TestTasksOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	s, m := limited(t, task.UserLimits{Active: 3, Waiting: 5})
	for n := range 3 {
		s.send(http.MethodPost, "/tasks/submit", small, keyHeader, fmt.Sprint("k", n)).wantOK(t)
	}
	got := s.send(http.MethodPost, "/tasks/submit", small)
	got.wantError(t, 429, "you have 3 active tasks, and the limit per user is 3 (--max-active-tasks)")
	if got.Header.Get("Retry-After") != "5" {
		t.Errorf("Retry-After %q", got.Header.Get("Retry-After"))
	}
	s.send(http.MethodPost, "/tasks/submit", small, keyHeader, "k1").wantOK(t)
	m.has = task.Usage{Waiting: 5}
	s.send(http.MethodPost, "/tasks/submit", small).wantError(t, 429, "--max-waiting-tasks")
	m.has = task.Usage{Active: 1}
	batch := s.send(http.MethodPost, "/tasks/batch", strings.Repeat(small+"\n", 4), "Content-Type", "application/x-ndjson").batch(t)
	refused := 0
	for _, r := range batch.Results {
		if r.Code == 429 {
			refused++
		}
	}
	if batch.Submitted != 2 || refused != 2 {
		t.Errorf("of four in a batch, with room for two: %+v", batch)
	}
}

// TestTasksAtOnceDoNotPassALimit checks the limit under concurrent submissions.
func TestTasksAtOnceDoNotPassALimit(t *testing.T) {
	t.Parallel()
	s, m := limited(t, task.UserLimits{Active: 10})
	var senders sync.WaitGroup
	for range 40 {
		senders.Go(func() { s.send(http.MethodPost, "/tasks/submit", small) })
	}
	senders.Wait()
	if m.has.Active != 10 {
		t.Errorf("%d tasks got in, want 10", m.has.Active)
	}
}

func TestRateOfAUserIsLimited(t *testing.T) {
	t.Parallel()
	s, _ := limited(t, task.UserLimits{SubmitRate: 0.01, SubmitBurst: 2})
	for range 2 {
		s.send(http.MethodPost, "/tasks/submit", small).wantOK(t)
	}
	got := s.send(http.MethodPost, "/tasks/submit", small)
	got.wantError(t, 429, "more than 0.01 tasks per second")
	if got.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	s.send(http.MethodPost, "/tasks/submit", small, userHeader, "bob").wantOK(t)
}

func TestLogStreamsOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	s := serveWith(t, &fake{}, func(c *Config) { c.Slots.Logs = slots.Limit{Total: 2, PerUser: 1} })
	begun, end := make(chan struct{}), make(chan struct{})
	s.tail = func(ctx context.Context, _ task.LogOptions, w *bufio.Writer) error {
		begun <- struct{}{}
		<-end
		return nil
	}
	read := func() chan answered {
		got := make(chan answered, 1)
		go func() { got <- s.send(http.MethodGet, "/tasks/a/logs", "") }()
		<-begun
		return got
	}
	first := read()
	s.send(http.MethodGet, "/tasks/a/logs", "").wantError(t, 429, "you have 1 open log streams, and the limit per user on one pod of this server is 1 (--max-log-streams)")
	s.send(http.MethodHead, "/tasks/a/logs", "").wantOK(t)
	if got := s.send(http.MethodGet, "/whoami", ""); !strings.Contains(got.body, `"usage":{"active_tasks":0,"waiting_tasks":0,"log_streams":1,`) {
		t.Errorf("whoami: %s", got.body)
	}
	end <- struct{}{}
	<-first
	second := read() // a stream is free again
	end <- struct{}{}
	<-second
}

func TestUploadsOfAUserAreLimited(t *testing.T) {
	t.Parallel()
	s, _ := limited(t, task.UserLimits{UploadBytes: 100})
	put := func(text string, headers ...string) answered {
		sum := sha256.Sum256([]byte(text))
		return s.send(http.MethodPut, "/uploads/"+hex.EncodeToString(sum[:]), text, headers...)
	}
	put(strings.Repeat("a", 101)).wantError(t, 403, "the archive has 101 bytes, and the limit of all uploads per user is 100")
	for n := range 2 { // the second upload replaces the first
		if got := put(strings.Repeat("b", 60)); got.StatusCode != 200 {
			t.Fatalf("upload %d: %d %s", n, got.StatusCode, got.body)
		}
	}
	put(strings.Repeat("c", 41)).wantError(t, 429, "you have 60 bytes of uploads, and the limit per user is 100")
	if got := put(strings.Repeat("c", 40)); got.StatusCode != 200 {
		t.Errorf("what there is room for: %d %s", got.StatusCode, got.body)
	}
	put("d").wantError(t, 429, "you have 100 bytes")
}
