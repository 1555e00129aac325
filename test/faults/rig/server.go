package rig

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"

	"k8s-cli/test/testkit"
)

// A Server is a k8s-cli-server with a fixed address, fixed flags and a fixed proxy. A Server
// can be started again and again.
type Server struct {
	Name  string
	URL   string
	Proxy *Proxy          // between the server and the API server
	Links []*testkit.Link // to each NATS node; nil without Config.Links

	program   string
	arguments []string
	journal   *journal

	mu      sync.Mutex
	process *testkit.Process // nil while the server is not running
	paused  bool
}

// askTimeout is the timeout of requests of the harness itself.
const askTimeout = 2 * time.Second

// Start starts the server and waits until it is ready. A server that exits because it cannot
// reach what it needs is started again, as a cluster would do.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := testkit.WithPatience(ctx, time.Minute)
	defer cancel()
	p, err := s.launch()
	if err != nil {
		return err
	}
	err = testkit.Until(ctx, s.Name+" to be ready", func() (string, bool) {
		if !p.Running() {
			next, err := s.launch()
			if err != nil {
				return err.Error(), false
			}
			p = next
		}
		health := s.Health(ctx)
		return fmt.Sprintf("%+v", health), health.Ready
	})
	if err != nil {
		dump(p)
	}
	return err
}

func (s *Server) launch() (*testkit.Process, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := testkit.Command{Program: s.program, Args: s.arguments, Output: s.journal}.Start()
	if err != nil {
		return nil, err
	}
	s.process = p
	return p, nil
}

// Health returns the health of the server, and the zero Health if the server does not
// answer.
func (s *Server) Health(ctx context.Context) testkit.Health { return testkit.HealthOf(ctx, s.URL) }

// Kill ends the server with SIGKILL, which also ends a paused server.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Kill()
		s.process, s.paused = nil, false
	}
}

// Terminate ends the server with SIGTERM, as an operator does.
func (s *Server) Terminate(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return nil
	}
	err := s.process.Terminate(ctx, 20*time.Second)
	s.process = nil
	if err != nil {
		return fmt.Errorf("terminate %s: %w", s.Name, err)
	}
	return nil
}

// Pause stops the server with SIGSTOP, as if its machine were frozen.
func (s *Server) Pause() { s.freeze(syscall.SIGSTOP, true) }

// Resume continues a paused server, which does not know that time has passed.
func (s *Server) Resume() { s.freeze(syscall.SIGCONT, false) }

func (s *Server) freeze(signal syscall.Signal, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Signal(signal)
		s.paused = paused
	}
}

// Runs reports whether the server was started and neither ended by the harness nor paused.
func (s *Server) Runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil && !s.paused
}

// Died reports whether the server ended by itself.
func (s *Server) Died() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil && !s.process.Running()
}
