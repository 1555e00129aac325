package testkit

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s-cli/test/testkit/must"
)

// A Command describes a program to run.
type Command struct {
	Program string // path
	Args    []string
	Home    string        // HOME; with it, the program gets only PATH of the caller's environment; "" passes the whole environment
	Env     []string      // additional variables, NAME=VALUE
	Output  io.Writer     // receives the output; nil makes the output available to Said and Line
	Grace   time.Duration // how long the program may take to end after SIGTERM at the end of the test; 0 sends SIGKILL
}

// A Process is one run of a program.
type Process struct {
	cmd   *exec.Cmd
	log   *journal // nil if Output is set
	ready *Line
	ended chan struct{}
	err   error // of Wait, valid once the process has ended
}

// Start starts the program. The kernel kills the program when the caller ends.
func (c Command) Start() (*Process, error) {
	p := &Process{cmd: exec.Command(c.Program, c.Args...), ended: make(chan struct{})}
	if c.Output == nil {
		p.log = &journal{}
		p.ready = p.Line(ReadyLine)
		c.Output = p.log
	}
	p.cmd.Env = append(Environment(c.Home), c.Env...)
	p.cmd.Stdout, p.cmd.Stderr = c.Output, c.Output
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// Environment returns the environment of a program: PATH and HOME if home is set, else the
// whole environment of the caller.
func Environment(home string) []string {
	env := os.Environ()
	if home != "" {
		env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	}
	return append(env, "GORACE="+os.Getenv("GORACE")+" atexit_sleep_ms=0") // by default a process takes a second to exit under the race detector
}

// Run starts the program and ends it at the end of the test. The test fails if the program
// had a data race, a panic or a failed request, or does not end in time.
func (c Command) Run(t testing.TB) *Process {
	t.Helper()
	p, err := c.Start()
	must.Succeed(t, err)
	t.Cleanup(func() {
		if c.Grace == 0 {
			p.Kill()
		} else if err := p.Terminate(context.Background(), c.Grace); err != nil {
			t.Errorf("the server: %v", err)
		}
		if m := Trouble.FindString(p.Said()); m != "" {
			t.Errorf("the server's own log has %q", m)
		}
		if t.Failed() {
			t.Logf("log of %s %v %v:\n%s", c.Program, c.Args, c.Env, p.Said())
		}
	})
	return p
}

// Trouble matches lines that no server may write to its log.
var Trouble = regexp.MustCompile(`(?m)WARNING: DATA RACE|^panic: .*|^fatal error: .*|msg="request failed".*`)

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ended returns a channel that is closed when the process has ended.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Running reports whether the process is still running.
func (p *Process) Running() bool { return !Closed(p.ended) }

// State returns the exit state of a process that has ended.
func (p *Process) State() *os.ProcessState { return p.cmd.ProcessState }

// Signal sends a signal. Signal does nothing if the process has ended.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill ends the process with SIGKILL, which also ends a stopped process.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.ended
}

// Terminate sends SIGTERM, as an operator does, and kills a process that does not end within
// the limit.
func (p *Process) Terminate(ctx context.Context, limit time.Duration) error {
	ctx, cancel := WithPatience(ctx, limit)
	defer cancel()
	p.Signal(syscall.SIGTERM)
	if wait(ctx, p.ended) != nil {
		p.Kill()
		return fmt.Errorf("it was still running %s after SIGTERM", limit)
	}
	return nil
}

// Exit waits until the process ends and returns its exit code.
func (p *Process) Exit(t testing.TB, limit time.Duration) int {
	t.Helper()
	ctx, cancel := WithPatience(t.Context(), limit)
	defer cancel()
	if err := wait(ctx, p.ended); err != nil {
		t.Fatalf("the server has not ended: %v; it said:\n%s", err, p.Said())
	}
	if failed, ok := errors.AsType[*exec.ExitError](p.err); ok {
		return failed.ExitCode()
	}
	return 0
}

// Address waits until the server is ready and returns the address at which it listens.
func (p *Process) Address(ctx context.Context, limit time.Duration) (string, error) {
	ctx, cancel := WithPatience(ctx, limit)
	defer cancel()
	err := wait(ctx, p.ready.found, p.ended)
	switch {
	case Closed(p.ready.found):
		return p.ready.match[1], nil
	case err != nil:
		return "", fmt.Errorf("the server is not ready: %w; it said:\n%s", err, p.Said())
	}
	return "", fmt.Errorf("the server ended (%w) before it was ready; it said:\n%s", p.err, p.Said())
}

// ReadyLine matches the log line of a server that is ready. The submatch is its address.
var ReadyLine = regexp.MustCompile(`msg=ready listen=(\S+)`)

// Said returns the output of the program so far.
func (p *Process) Said() string {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return p.log.text.String()
}

// A Line is the first line of the output that matches a pattern, now or later.
type Line struct {
	pattern *regexp.Regexp
	match   []string
	found   chan struct{}
}

// Found returns a channel that is closed when the line was written.
func (l *Line) Found() <-chan struct{} { return l.found }

// Match returns the line and the submatches of its pattern. Match is valid once the line was
// found.
func (l *Line) Match() []string { return l.match }

// Line returns the first line of the output that matches pattern, now or later.
func (p *Process) Line(pattern *regexp.Regexp) *Line {
	l := &Line{pattern: pattern, found: make(chan struct{})}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.log.awaited = append(p.log.awaited, l)
	for line := range bytes.Lines(p.log.text.Bytes()[:p.log.line]) {
		p.log.look(line)
	}
	return l
}

// A journal stores the output of a program and finds lines in it.
type journal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	line    int     // where the last line begins
	awaited []*Line // lines that were not found yet
}

// Write adds to the journal.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Write(p)
	for line := range bytes.Lines(j.text.Bytes()[j.line:]) {
		if bytes.HasSuffix(line, []byte("\n")) {
			j.line += len(line)
			j.look(line)
		}
	}
	return len(p), nil
}

func (j *journal) look(line []byte) {
	j.awaited = slices.DeleteFunc(j.awaited, func(l *Line) bool {
		for _, part := range l.pattern.FindSubmatch(line) {
			l.match = append(l.match, string(part))
		}
		if l.match != nil {
			close(l.found)
		}
		return l.match != nil
	})
}

// Main runs a tool. An interrupt or SIGTERM ends ctx, so that the tool can clean up.
func Main(name string, run func(ctx context.Context, args []string, out io.Writer) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp): // the help was printed
	case err != nil:
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
}
