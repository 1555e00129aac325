package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s-cli/test/testkit"
)

// A Server is a k8s-cli-server that runs.
type Server struct {
	URL   string
	Ready time.Duration // from its start until it could answer
	Took  time.Duration // of processors until then

	*testkit.Process
	trace *trace
}

// Settings say how to run a server.
type Settings struct {
	Program   string // path
	Namespace string
	DataDir   string
	Flags     []string // more of them
	Env       []string // more of it
}

const (
	startPatience = 5 * time.Minute
	readyPause    = 5 * time.Millisecond // how exactly the start is measured
)

// Serve starts a server, with the log inside and every write of it synced, and
// waits until it is ready.
func (p *Place) Serve(ctx context.Context, s Settings) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %s", startPatience))
	defer cancel()
	address, err := testkit.FreeAddress()
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(p.Work, s.Namespace+".server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	server := &Server{URL: "http://" + address, trace: &trace{file: file}}
	command := testkit.Command{Program: s.Program, Env: append([]string{"GODEBUG=gctrace=1"}, s.Env...), Output: server.trace, Args: append([]string{
		"--kubeconfig", p.Kubeconfig, "--namespace", s.Namespace, "--data-dir", s.DataDir,
		"--durability", "always", "--listen", address, "--nats-listen", "off", "--log-level", "warn",
		"--max-active-jobs", "0", "--max-unschedulable-pods", "0", // what is measured is how fast Jobs are made
	}, s.Flags...)}
	began := time.Now()
	if server.Process, err = command.Start(); err != nil {
		return nil, err
	}
	go func() {
		<-server.Ended()
		file.Close()
	}()
	err = testkit.UntilEvery(ctx, readyPause, "the server to be ready", func() (string, bool) {
		return "", !server.Running() || testkit.HealthOf(ctx, server.URL).Ready
	})
	if err == nil && !server.Running() {
		err = errors.New("it ended")
	}
	if err != nil {
		server.Kill()
		return nil, fmt.Errorf("start a server: %w; see %s", err, file.Name())
	}
	server.Ready, server.Took = time.Since(began), CPU(server.PID())
	return server, nil
}

// Memory is what it last said of its heap.
func (s *Server) Memory() Memory { return s.trace.now() }
