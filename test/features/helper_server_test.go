package features

import (
	"cmp"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"k8s-cli/test/testkit"
	"k8s-cli/test/testkit/must"
)

// A server is a k8s-cli-server that serves one namespace.
type server struct {
	*cluster
	url     string
	flags   []string
	env     []string // NAME=VALUE
	process process
}

// A process is a running k8s-cli-server.
type process struct{ *testkit.Process }

// start starts a server with a namespace and a log of its own, and returns when the server
// is ready.
func start(t *testing.T, flags ...string) *server {
	t.Helper()
	return join(t).serve(t, flags...)
}

// serve starts a server on the namespace of c, with a log of its own unless the flags name
// another log.
func (c *cluster) serve(t *testing.T, flags ...string) *server {
	t.Helper()
	return (&server{cluster: c, flags: flags}).serve(t)
}

// again starts a server in place of s, which has ended, with the same flags and therefore
// the same log.
func (s *server) again(t *testing.T) *server {
	t.Helper()
	return (&server{cluster: s.cluster, flags: s.flags, env: s.env}).serve(t)
}

// serve starts s and returns when s is ready.
func (s *server) serve(t *testing.T) *server {
	t.Helper()
	s.launch(t)
	s.url = "http://" + s.process.address(t)
	answer := s.get(t, "", "/readyz")
	if answer.code != http.StatusOK {
		t.Fatalf("a server that said it is ready answers /readyz with %d: %s", answer.code, answer.body)
	}
	return s
}

func (s *server) launch(t *testing.T) {
	t.Helper()
	if !slices.Contains(s.flags, "--nats-url") && !slices.Contains(s.flags, "--data-dir") {
		s.flags = append([]string{"--nats-listen", "off", "--data-dir", t.TempDir()}, s.flags...)
	}
	s.process = launch(t, testkit.Command{Args: s.arguments(), Env: s.env})
}

func (s *server) arguments() []string {
	own := []string{"--listen", "127.0.0.1:0", "--namespace", s.namespace, "--kubeconfig", os.Getenv(envKubeconfig)}
	return append(own, s.flags...)
}

// endTime is the longest time that a server may take to end.
const endTime = 15 * time.Second

// launch starts k8s-cli-server, or the program of c, and ends it at the end of the test. The test fails if the
// process had a data race or a panic, or does not end on SIGTERM.
func launch(t *testing.T, c testkit.Command) process {
	t.Helper()
	c.Program, c.Home, c.Grace = cmp.Or(c.Program, testkit.Program(t, "k8s-cli-server")), t.TempDir(), endTime
	return process{c.Run(t)}
}

// terminate sends SIGTERM, as an operator does, and waits for the end of the process.
func (p process) terminate(t *testing.T) {
	t.Helper()
	if err := p.Terminate(t.Context(), endTime); err != nil {
		t.Errorf("the server: %v", err)
	}
}

// exit waits until the process ends and returns its exit code.
func (p process) exit(t *testing.T) int {
	t.Helper()
	return p.Exit(t, patience)
}

// address waits until the process is ready and returns the address at which it listens.
func (p process) address(t *testing.T) string {
	t.Helper()
	address, err := p.Address(t.Context(), patience)
	must.Succeed(t, err)
	return address
}
