package rig

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"k8s-cli/test/testkit"
)

// A Server is a k8s-cli-server in one place: however often it is started again,
// it has the same address, flags and proxy.
type Server struct {
	Name  string
	URL   string
	Proxy *Proxy          // between it and the API server
	Wire  *Wire           // between it and NATS; nil unless asked for
	Links []*testkit.Link // to each node of NATS; nil unless asked for

	program   string
	arguments []string
	journal   *journal

	mu      sync.Mutex
	process *testkit.Process // nil while it does not run
	paused  bool
}

// askTimeout is for the questions of the harness itself.
const askTimeout = 2 * time.Second

// Start runs the server and waits until it is ready. One that gives up because
// it cannot reach what it needs is run again, as a cluster would.
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

// Try runs the server until it is ready or has ended by itself.
func (s *Server) Try(ctx context.Context) (ready bool, err error) {
	ctx, cancel := testkit.WithPatience(ctx, time.Minute)
	defer cancel()
	p, err := s.launch()
	if err != nil {
		return false, err
	}
	err = testkit.Until(ctx, s.Name+" to be ready or over", func() (string, bool) {
		if !p.Running() {
			return "", true
		}
		health := s.Health(ctx)
		ready = health.Ready
		return fmt.Sprintf("%+v", health), ready
	})
	return ready, err
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

// Become has the server be another release of the program when it is started next.
func (s *Server) Become(program string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program = program
}

// Said returns how often all runs of the server together have said something.
func (s *Server) Said(text string) int {
	all, err := os.ReadFile(s.journal.file.Name())
	if err != nil {
		return 0
	}
	return bytes.Count(all, []byte(text))
}

// Health asks the server how it fares; of one that does not answer it returns
// the zero Health.
func (s *Server) Health(ctx context.Context) testkit.Health { return testkit.HealthOf(ctx, s.URL) }

// Kill ends the server as a power cut does; a paused one too.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Kill()
		s.process, s.paused = nil, false
	}
}

// Terminate ends the server as an operator does.
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

// Pause stops the server where it stands, as a frozen machine does.
func (s *Server) Pause() { s.freeze(syscall.SIGSTOP, true) }

// Resume lets a paused server go on, which does not know that time has passed.
func (s *Server) Resume() { s.freeze(syscall.SIGCONT, false) }

func (s *Server) freeze(signal syscall.Signal, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		s.process.Signal(signal)
		s.paused = paused
	}
}

// Runs reports whether the server was started, has not been ended by the
// harness and is not paused.
func (s *Server) Runs() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil && !s.paused
}

// Died reports whether the server ended though nobody ended it.
func (s *Server) Died() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil && !s.process.Running()
}
