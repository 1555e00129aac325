package features

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"k8s-cli/test/testkit"
)

// A sharedServer is the server of the tests that need no flags, no restart and nothing of a whole
// namespace. Each of these tests has a user of its own.
type sharedServer struct {
	*server
	start sync.Once
	home  string
	err   error
	users atomic.Int32
}

var shared sharedServer

// newUser returns a user of the shared server, whose tasks are stopped at the end of the test.
func newUser(t *testing.T) *user {
	t.Helper()
	need(t)
	shared.start.Do(func() { shared.err = shared.launch() })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	u := shared.as(t, fmt.Sprintf("ann%d@example.com", shared.users.Add(1)))
	t.Cleanup(func() {
		if _, err := u.StopAll(context.Background(), false); err != nil { // the context of the test has ended
			t.Errorf("stop the tasks of %s: %v", u.name, err)
		}
		if !t.Failed() {
			return
		}
		var said strings.Builder
		for line := range strings.Lines(shared.process.Said()) {
			if strings.Contains(line, u.name) {
				said.WriteString(line)
			}
		}
		t.Logf("the log of the shared server about %s:\n%s", u.name, said.String())
	})
	return u
}

func (s *sharedServer) launch() error {
	ctx := context.Background()
	c, err := testkit.Connect(os.Getenv(testkit.EnvKubeconfig), "k8s-cli-tests")
	if err == nil {
		err = c.Join(ctx, "test-shared-", nil)
	}
	if err == nil {
		s.home, err = os.MkdirTemp("", "k8s-cli-shared-")
	}
	if err != nil {
		return err
	}
	s.server = &server{cluster: &cluster{c, c.Namespace}, flags: []string{"--nats-listen", "off", "--data-dir", s.home}}
	program := os.Getenv(testkit.EnvPrograms) + "/k8s-cli-server"
	p, err := testkit.Command{Program: program, Args: s.arguments(), Home: s.home}.Start()
	if err != nil {
		return err
	}
	s.process = process{p}
	address, err := p.Address(ctx, patience)
	s.url = "http://" + address
	return err
}

// end ends the shared server and reports whether the server worked without errors.
func (s *sharedServer) end() bool {
	if s.server == nil {
		return true
	}
	cluster := testkit.Cluster{Interface: s.Interface, Namespace: s.namespace}
	defer cluster.Leave()
	defer func() { _ = os.RemoveAll(s.home) }()
	if s.process.Process == nil {
		return false
	}
	err := s.process.Terminate(context.Background(), endTime)
	said := s.process.Said()
	trouble := testkit.Trouble.FindString(said)
	if err == nil && trouble == "" {
		return true
	}
	fmt.Printf("the shared server: %s\n%s\n", cmp.Or(trouble, fmt.Sprint(err)), said)
	return false
}
