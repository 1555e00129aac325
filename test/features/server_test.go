package features

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A server is a process of ours that serves one namespace.
type server struct {
	*cluster
	url     string
	flags   []string
	process *process
}

// start runs a server on a namespace and a log of its own, and returns once it
// is ready.
func start(t *testing.T, flags ...string) *server {
	t.Helper()
	c := join(t)
	if !slices.Contains(flags, "--nats-url") {
		flags = append([]string{"--nats-listen", "off", "--data-dir", t.TempDir()}, flags...)
	}
	return c.serve(t, flags...)
}

// serve runs a server on the namespace of c.
func (c *cluster) serve(t *testing.T, flags ...string) *server {
	t.Helper()
	s := &server{cluster: c, flags: flags}
	s.process = launch(t, s.arguments()...)
	s.url = "http://" + s.process.address(t)
	answer := s.get(t, "", "/readyz")
	if answer.code != http.StatusOK {
		t.Fatalf("a server that said it is ready answers /readyz with %d: %s", answer.code, answer.body)
	}
	return s
}

func (s *server) arguments() []string {
	own := []string{"--listen", "127.0.0.1:0", "--namespace", s.namespace, "--kubeconfig", os.Getenv(envKubeconfig)}
	return append(own, s.flags...)
}

// again runs a server in the place of s, which has ended: with the same flags,
// so on the same log.
func (s *server) again(t *testing.T) *server {
	t.Helper()
	return s.serve(t, s.flags...)
}

// A process is a run of k8s-cli-server.
type process struct {
	*exec.Cmd
	journal journal
	ended   chan struct{}
	err     error // of Wait, once it has ended
}

// launch starts k8s-cli-server. It ends with the test, which fails if the
// process had a data race or a panic, or does not end when it is told to.
func launch(t *testing.T, arguments ...string) *process {
	t.Helper()
	return launchWith(t, nil, arguments...)
}

// launchWith does so with settings in the environment, NAME=VALUE.
func launchWith(t *testing.T, settings []string, arguments ...string) *process {
	t.Helper()
	p := &process{
		Cmd:     exec.Command(program(t, "k8s-cli-server"), arguments...),
		journal: journal{listens: make(chan struct{})},
		ended:   make(chan struct{}),
	}
	p.Env = environment(t.TempDir(), settings...)
	p.Stdout, p.Stderr = &p.journal, &p.journal
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.Wait()
		close(p.ended)
	}()
	t.Cleanup(func() { p.finish(t) })
	return p
}

func (p *process) finish(t *testing.T) {
	if p.terminate(); p.running() {
		t.Error("the server was still running 15 s after SIGTERM")
		p.kill()
	}
	text := p.journal.String()
	if m := trouble.FindString(text); m != "" {
		t.Errorf("the server's own log has %q", m)
	}
	if t.Failed() {
		t.Logf("log of k8s-cli-server %v:\n%s", p.Args[1:], text)
	}
}

// trouble is what no log of a server may hold.
var trouble = regexp.MustCompile(`(?m)WARNING: DATA RACE|^panic: .*|^fatal error: .*|msg="request failed".*`)

func (p *process) running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// terminate ends the process as an operator does.
func (p *process) terminate() {
	_ = p.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(15 * time.Second):
	}
}

// kill ends the process as a power cut does.
func (p *process) kill() {
	_ = p.Process.Kill()
	<-p.ended
}

// exit waits for the end of the process and returns its exit code.
func (p *process) exit(t *testing.T) int {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		t.Fatalf("the server has not ended within %s; it said:\n%s", patience, p.journal.String())
	}
	if failed, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return failed.ExitCode()
	}
	return 0
}

// address waits until the process is ready and returns where it listens.
func (p *process) address(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-p.journal.listens:
	case <-p.ended:
		t.Fatalf("the server ended (%v) before it was ready; it said:\n%s", p.err, p.journal.String())
	case <-ctx.Done():
		t.Fatalf("the server is not ready: %v; it said:\n%s", ctx.Err(), p.journal.String())
	}
	return p.journal.address
}

// A journal keeps what a server logs and notices when it is ready.
type journal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	listens chan struct{} // closed when address is known
	address string
}

var readyLine = regexp.MustCompile(`msg=ready listen=(\S+)\n`)

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Write(p)
	if m := readyLine.FindSubmatch(j.text.Bytes()); m != nil && j.address == "" {
		j.address = string(m[1])
		close(j.listens)
	}
	return len(p), nil
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}
