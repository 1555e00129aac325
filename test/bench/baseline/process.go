package baseline

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
)

// Word is the argument that makes this program run as a baseline.
const Word = "baseline"

// A Process is a running baseline.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
}

// Start starts the program of the caller again, as a baseline.
func Start(ctx context.Context) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	p := &Process{cmd: exec.CommandContext(ctx, self, Word)}
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	p.answers = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("baseline: %w", err)
	}
	return p, nil
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ask sends r to the baseline and returns its reply.
func (p *Process) Ask(r Request) (reply Reply, err error) {
	line, err := json.Marshal(r)
	if err != nil {
		return reply, fmt.Errorf("ask the baseline: %w", err)
	}
	if _, err := p.in.Write(append(line, '\n')); err != nil {
		return reply, fmt.Errorf("ask the baseline: %w", err)
	}
	answer, err := p.answers.ReadBytes('\n')
	if err != nil {
		return reply, fmt.Errorf("ask the baseline: %w", err)
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return reply, fmt.Errorf("ask the baseline: %w", err)
	}
	if reply.Error != "" {
		return reply, fmt.Errorf("baseline: %w", errors.New(reply.Error))
	}
	return reply, nil
}

// Close ends the process.
func (p *Process) Close() {
	_ = p.in.Close()
	_ = p.cmd.Wait()
}
