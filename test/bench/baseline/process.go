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

// Word is the argument that makes a baseline of the program.
const Word = "baseline"

// A Process is a baseline that runs.
type Process struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers *bufio.Reader
}

// Start starts this very program as a baseline.
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

// PID is the process's.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Ask has the baseline do what r says.
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
