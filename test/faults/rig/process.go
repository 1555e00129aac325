// Package rig runs what the faults are done to: servers of ours, nodes of NATS,
// a proxy in front of the API server for each server, and a namespace of a real
// cluster that is watched from outside.
package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// A process is one run of a program.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// launch starts a program; what it says is added to journal.
func launch(journal *journal, env []string, path string, arguments ...string) (*process, error) {
	p := &process{cmd: exec.Command(path, arguments...), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = journal, journal
	// Whatever ends the harness ends what it started.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", path, err)
	}
	go func() {
		_ = p.cmd.Wait() // its journal says more than its exit code
		close(p.ended)
	}()
	return p, nil
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// dump ends a process that hangs, which says in its journal where it does.
func (p *process) dump() {
	p.signal(syscall.SIGQUIT)
	select {
	case <-p.ended:
	case <-time.After(5 * time.Second):
		p.kill()
	}
}

// terminate ends the process as an operator does, and reports if it would not.
func (p *process) terminate(ctx context.Context) error {
	p.signal(syscall.SIGTERM)
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	select {
	case <-p.ended:
		return nil
	case <-ctx.Done():
		p.kill()
		return errors.New("it was still running 20 s after SIGTERM")
	}
}

// A journal keeps what all runs of a program said, in a file, and what the
// harness has to know of it.
type journal struct {
	mu      sync.Mutex
	file    *os.File
	line    []byte
	terms   int      // times that the server began to lead
	trouble []string // lines that no journal may hold
}

var (
	leadingLine = []byte("leading: this pod applies commands")
	troubleLine = regexp.MustCompile(`WARNING: DATA RACE|^panic: |^fatal error: |msg="request failed"|msg="panic while`)
)

func newJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &journal{file: f}, nil
}

// Write adds to the journal.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, b := range p {
		if b != '\n' {
			j.line = append(j.line, b)
			continue
		}
		switch {
		case bytes.Contains(j.line, leadingLine):
			j.terms++
		case troubleLine.Match(j.line):
			j.trouble = append(j.trouble, string(j.line[:min(len(j.line), 500)]))
		}
		j.line = j.line[:0]
	}
	return j.file.Write(p)
}

func (j *journal) seen() (terms int, trouble []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.terms, j.trouble
}

// Until waits for what nobody tells: it asks again and again, and says what it
// saw last if ctx ends first.
func Until(ctx context.Context, what string, check func() (state string, ok bool)) error {
	return UntilEvery(ctx, 50*time.Millisecond, what, check)
}

// UntilEvery is Until for what costs too much to be asked all the time.
func UntilEvery(ctx context.Context, pause time.Duration, what string, check func() (state string, ok bool)) error {
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for {
		state, ok := check()
		if ok {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last seen: %s", what, context.Cause(ctx), state)
		}
	}
}
