package features

import (
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"k8s-cli/test/testkit"
)

// A server is a process of ours that serves one namespace.
type server struct {
	*cluster
	url     string
	flags   []string
	env     []string // NAME=VALUE
	process process
}

// A process is a run of k8s-cli-server.
type process struct{ *testkit.Process }

// start runs a server on a namespace and a log of its own, and returns once it
// is ready.
func start(t *testing.T, flags ...string) *server {
	t.Helper()
	return join(t).serve(t, flags...)
}

// serve runs a server on the namespace of c, with a log of its own unless the flags
// name one.
func (c *cluster) serve(t *testing.T, flags ...string) *server {
	t.Helper()
	return (&server{cluster: c, flags: flags}).serve(t)
}

// again runs a server in the place of s, which has ended: with the same flags,
// so on the same log.
func (s *server) again(t *testing.T) *server {
	t.Helper()
	return (&server{cluster: s.cluster, flags: s.flags, env: s.env}).serve(t)
}

// serve runs s and returns it once it is ready.
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

// endTime is how long a server may take to end.
const endTime = 15 * time.Second

// launch starts k8s-cli-server. It ends with the test, which fails if the process had
// a data race or a panic, or does not end when it is told to.
func launch(t *testing.T, c testkit.Command) process {
	t.Helper()
	c.Program, c.Home, c.Grace = testkit.Program(t, "k8s-cli-server"), t.TempDir(), endTime
	return process{c.Run(t)}
}

// terminate ends the process as an operator does.
func (p process) terminate(t *testing.T) {
	t.Helper()
	if err := p.Terminate(t.Context(), endTime); err != nil {
		t.Errorf("the server: %v", err)
	}
}

// exit waits for the end of the process and returns its exit code.
func (p process) exit(t *testing.T) int {
	t.Helper()
	return p.Exit(t, patience)
}

// address waits until the process is ready and returns where it listens.
func (p process) address(t *testing.T) string {
	t.Helper()
	address, err := p.Address(t.Context(), patience)
	if err != nil {
		t.Fatal(err)
	}
	return address
}
