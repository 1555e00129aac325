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

// A Server is a running k8s-cli-server.
type Server struct {
	URL   string
	Ready time.Duration // from the start of the process until it was ready
	Took  time.Duration // processor time until it was ready

	*testkit.Process
	trace *trace
}

// Settings configure a server.
type Settings struct {
	Program   string // path
	Namespace string
	DataDir   string
	Flags     []string // additional flags
	Env       []string // additional variables
}

const (
	startPatience = 5 * time.Minute
	readyPause    = 5 * time.Millisecond // the precision of Ready
)

// Serve starts a server with an embedded log that syncs every write, and waits until the
// server is ready.
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
		"--max-active-jobs", "0", "--max-unschedulable-pods", "0", // the bench measures how fast Jobs are created
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

// Memory returns the heap statistics that the server printed last.
func (s *Server) Memory() Memory { return s.trace.now() }
