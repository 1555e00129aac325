package durability

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s-cli/pkg/task"
)

// A server is a process of ours with the log inside.
type server struct {
	*exec.Cmd
	url     string
	journal journal
	ended   chan struct{}
}

// start runs a server on a data directory, and returns once it is ready. The
// namespace need not exist: no task of these tests gets as far as a Job.
func start(t *testing.T, dir string, flags ...string) *server {
	t.Helper()
	flags = append([]string{
		"--listen", "127.0.0.1:0", "--namespace", "durability", "--kubeconfig", os.Getenv(envKubeconfig),
		"--nats-listen", "off", "--data-dir", dir,
	}, flags...)
	s := &server{Cmd: exec.Command(program(t), flags...), journal: journal{ready: make(chan struct{})}, ended: make(chan struct{})}
	s.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	s.Stdout, s.Stderr = &s.journal, &s.journal
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = s.Wait()
		close(s.ended)
	}()
	t.Cleanup(func() { s.finish(t) })
	select {
	case <-s.journal.ready:
		s.url = "http://" + s.journal.address
	case <-s.ended:
		t.Fatalf("the server ended before it was ready; it said:\n%s", s.journal.String())
	case <-time.After(patience):
		t.Fatalf("the server is not ready; it said:\n%s", s.journal.String())
	}
	return s
}

// kill ends the process without its taking notice.
func (s *server) kill() {
	_ = s.Process.Signal(syscall.SIGKILL)
	<-s.ended
}

func (s *server) finish(t *testing.T) {
	s.kill()
	text := s.journal.String()
	if m := trouble.FindString(text); m != "" {
		t.Errorf("the server's own log has %q", m)
	}
	if t.Failed() {
		t.Logf("log of k8s-cli-server %v:\n%s", s.Args[1:], text)
	}
}

// trouble is what no log of a server may hold.
var trouble = regexp.MustCompile(`(?m)WARNING: DATA RACE|^panic: .*|^fatal error: .*|msg="request failed".*`)

// A journal keeps what a server logs and notices when it is ready.
type journal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	ready   chan struct{} // closed when address is known
	address string
}

var readyLine = regexp.MustCompile(`msg=ready listen=(\S+)\n`)

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Write(p)
	if m := readyLine.FindSubmatch(j.text.Bytes()); m != nil && j.address == "" {
		j.address = string(m[1])
		close(j.ready)
	}
	return len(p), nil
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// An answer is a response that was read.
type answer struct {
	code   int
	header http.Header
	body   []byte
}

func (a answer) String() string { return fmt.Sprintf("%d %s", a.code, a.body) }

// ask sends one request. An error means that there is no telling what became
// of it.
func (s *server) ask(method, path, key, body string) (answer, error) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("X-User", "ann@example.com")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	got, err := web.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer got.Body.Close()
	read, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, read}, err
}

func (s *server) readyz(t *testing.T) string {
	t.Helper()
	got, err := s.ask(http.MethodGet, "/readyz", "", "")
	if err != nil {
		t.Fatal(err)
	}
	return got.String()
}

// tasks returns all tasks, their ids by name.
func (s *server) tasks(t *testing.T) map[string][]string {
	t.Helper()
	got, err := s.ask(http.MethodGet, "/tasks", "", "")
	if err != nil || got.code != http.StatusOK {
		t.Fatalf("list the tasks: %v %v", got, err)
	}
	var list task.List
	if err := json.Unmarshal(got.body, &list); err != nil {
		t.Fatal(err)
	}
	ids := map[string][]string{}
	for _, one := range list.Tasks {
		ids[one.Name] = append(ids[one.Name], one.ID)
	}
	return ids
}
