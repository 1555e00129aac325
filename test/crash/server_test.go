package crash

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
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
)

// A server is a process of ours, built with crash points.
type server struct {
	*exec.Cmd
	url     string
	ready   chan struct{} // closed when url is known
	reached chan struct{} // closed when it has come to its crash point
	ended   chan struct{}

	mu   sync.Mutex
	text bytes.Buffer
}

// launch starts a server, with a setting of its environment that names a crash
// point, or "".
func launch(t *testing.T, setting string, arguments ...string) *server {
	t.Helper()
	s := &server{
		Cmd:   exec.Command(program(t), arguments...),
		ready: make(chan struct{}), reached: make(chan struct{}), ended: make(chan struct{}),
	}
	// Under the race detector a process takes a second to exit unless told otherwise.
	s.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GORACE=atexit_sleep_ms=0", setting}
	s.Stdout, s.Stderr = s, s
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { _ = s.Wait(); close(s.ended) }()
	t.Cleanup(func() { s.finish(t) })
	return s
}

var (
	readyLine   = regexp.MustCompile(`msg=ready listen=(\S+)\n`)
	reachedLine = regexp.MustCompile(`reached crash point .*\n`)
	trouble     = regexp.MustCompile(`(?m)WARNING: DATA RACE|^panic: .*|^fatal error: .*|msg="request failed".*`) // no log may hold it
)

// Write takes what the server says.
func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	if m := readyLine.FindSubmatch(s.text.Bytes()); m != nil && s.url == "" {
		s.url = "http://" + string(m[1])
		close(s.ready)
	}
	if reachedLine.Match(s.text.Bytes()) && !s.isReached() {
		close(s.reached)
	}
	return len(p), nil
}

func (s *server) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

func (s *server) isReached() bool { return closed(s.reached) }
func (s *server) isEnded() bool   { return closed(s.ended) }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// finish ends a server that is still there.
func (s *server) finish(t *testing.T) {
	if !s.isEnded() {
		_ = s.Process.Signal(syscall.SIGCONT)
		_ = s.Process.Kill()
		<-s.ended
	}
	if m := trouble.FindString(s.said()); m != "" {
		t.Errorf("the server's own log has %q", m)
	}
	if t.Failed() {
		t.Logf("log of k8s-cli-server %v %s:\n%s", s.Args[1:], s.Env[len(s.Env)-1], s.said())
	}
}

// endedAt checks that a server ended at its point, by the signal that it sent
// itself there.
func (s *server) endedAt(t *testing.T) {
	t.Helper()
	wait(t, "the end of the server", s.ended, nil)
	if status, ok := s.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGKILL || !s.isReached() {
		t.Fatalf("the server ended, with %v, elsewhere than at its crash point", s.ProcessState)
	}
}

// isStopped reports whether the process sleeps until SIGCONT comes.
func (s *server) isStopped() (state string, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.Process.Pid))
	_, state, _ = strings.Cut(string(stat), ") ")
	return state, err == nil && strings.HasPrefix(state, "T")
}

var errGone = errors.New("the server is gone")

// An answer is one to a request.
type answer struct {
	code int
	body []byte
}

// ask sends a request. The error is errGone if the server came to its crash
// point, or to an end, before it answered.
func (s *server) ask(ctx context.Context, method, path, key string, body any) (answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-s.reached:
		case <-s.ended:
		case <-stop:
		}
		cancel()
	}()
	raw, err := json.Marshal(body)
	if err != nil {
		return answer{}, err
	}
	request, err := http.NewRequestWithContext(ctx, method, s.url+path, bytes.NewReader(raw))
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("X-User", user)
	request.Header.Set("Content-Type", "application/json")
	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}
	response, err := http.DefaultClient.Do(request)
	if err == nil {
		defer response.Body.Close()
		raw, err = io.ReadAll(response.Body)
	}
	if err != nil {
		return answer{}, fmt.Errorf("%w: %w", errGone, err)
	}
	return answer{response.StatusCode, raw}, nil
}
