// Package supervise keeps programs running: it starts programs, restarts a program that
// exits, and stops the programs in order.
package supervise

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// A Program is a long-running child process.
type Program struct {
	Name  string
	Path  string
	Args  []string
	Env   []string      // in addition to the environment of this process
	Log   string        // file to which the output is appended
	Grace time.Duration // time to terminate after the signal; 0 means 5s
}

// run keeps p running until ctx ends, and then terminates p. run calls seen for each start
// and for each exit.
func (p Program) run(ctx context.Context, seen func(event)) {
	// The kernel kills the child when the thread that started the child exits, so that no
	// child outlives this process. The goroutine therefore keeps its thread until the child
	// exits.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var delay backoff
	for ctx.Err() == nil {
		start := time.Now()
		err := p.once(ctx, seen)
		if ctx.Err() != nil {
			break
		}
		seen(event{err: err})
		wait(ctx, delay.after(time.Since(start)))
	}
	seen(event{stopped: true})
}

// once starts p, waits until p exits, and returns the reason of the exit.
func (p Program) once(ctx context.Context, seen func(event)) error {
	log, err := openLog(p.Log)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, p.Path, p.Args...)
	cmd.Env = append(os.Environ(), p.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = p.Grace
	if p.Grace == 0 {
		cmd.WaitDelay = 5 * time.Second
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	seen(event{pid: cmd.Process.Pid})
	if err := cmd.Wait(); err != nil {
		return err
	}
	return fmt.Errorf("it ended by itself")
}

func openLog(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
