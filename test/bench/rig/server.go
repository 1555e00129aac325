package rig

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A Server is a k8s-cli-server that runs.
type Server struct {
	URL   string
	Ready time.Duration // from its start until it could answer
	Took  time.Duration // of processors until then

	cmd   *exec.Cmd
	ended chan struct{}
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

const startPatience = 5 * time.Minute

// Serve starts a server, with the log inside and every write of it synced, and
// waits until it is ready.
func (p *Place) Serve(ctx context.Context, s Settings) (*Server, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("not ready after %s", startPatience))
	defer cancel()
	address, err := freeAddress()
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	file, err := os.OpenFile(filepath.Join(p.Work, s.Namespace+".server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	server := &Server{URL: "http://" + address, ended: make(chan struct{}), trace: &trace{file: file}}
	server.cmd = exec.Command(s.Program, append([]string{
		"--kubeconfig", p.Kubeconfig, "--namespace", s.Namespace, "--data-dir", s.DataDir,
		"--durability", "always", "--listen", address, "--nats-listen", "off", "--log-level", "warn",
		"--max-active-jobs", "0", "--max-unschedulable-pods", "0", // what is measured is how fast Jobs are made
	}, s.Flags...)...)
	server.cmd.Env = append(append(os.Environ(), "GODEBUG=gctrace=1"), s.Env...)
	server.cmd.Stderr = server.trace
	server.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	began := time.Now()
	if err := server.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a server: %w", err)
	}
	go func() {
		_ = server.cmd.Wait()
		file.Close()
		close(server.ended)
	}()
	if err := server.await(ctx); err != nil {
		server.Kill()
		return nil, fmt.Errorf("start a server: %w; see %s", err, file.Name())
	}
	server.Ready, server.Took = time.Since(began), CPU(server.PID())
	return server, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// await asks until the server is ready.
func (s *Server) await(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.ready(ctx) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *Server) ready(ctx context.Context) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// PID is the process's.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Memory is what it last said of its heap.
func (s *Server) Memory() Memory { return s.trace.now() }

// Kill ends the server at once: what it was told is in its log, and nothing more
// is applied.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

const stopPatience = 20 * time.Second

// Stop ends the server as an operator does.
func (s *Server) Stop() error {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-s.ended:
		return nil
	case <-time.After(stopPatience):
		s.Kill()
		return fmt.Errorf("the server was still running %s after SIGTERM", stopPatience)
	}
}
