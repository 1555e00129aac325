package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// prompt is what the shell prints before it reads a command.
const prompt = "$ "

// A shell is an interactive bash in a pseudo terminal, with a recording of its output.
type shell struct {
	terminal *os.File // the side of a terminal's user
	bash     *exec.Cmd
	begin    time.Time

	mu      sync.Mutex
	screen  screen
	events  []event
	err     error
	changed chan struct{} // closed at the next change of the screen
	ended   chan struct{} // closed at the end of the output
}

// startShell starts bash in dir. Only the variables in env exist in the shell.
func startShell(ctx context.Context, dir string, env []string) (*shell, error) {
	terminal, device, err := openTerminal()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo terminal: %w", err)
	}
	defer device.Close()
	bash := exec.CommandContext(ctx, "bash", "--noprofile", "--norc", "-i")
	bash.Dir = dir
	bash.Env = append(env, "TERM=xterm-256color", `PS1=\[\e[1;32m\]$\[\e[0m\] `, "HISTFILE=")
	bash.Stdin, bash.Stdout, bash.Stderr = device, device, device
	bash.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s := &shell{terminal: terminal, bash: bash, begin: time.Now(), changed: make(chan struct{}), ended: make(chan struct{})}
	if err := bash.Start(); err != nil {
		terminal.Close()
		return nil, err
	}
	go s.record()
	return s, nil
}

// openTerminal returns both sides of a new pseudo terminal.
func openTerminal() (terminal, device *os.File, err error) {
	if terminal, err = os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err != nil {
		return nil, nil, err
	}
	fd := int(terminal.Fd())
	size := unix.Winsize{Row: rows, Col: columns}
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0), unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size))
	if err == nil {
		device, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		terminal.Close()
		return nil, nil, err
	}
	return terminal, device, nil
}

// record copies the output of the shell to the screen and to the recording, until the shell
// ends.
func (s *shell) record() {
	defer close(s.ended)
	buffer := make([]byte, 1<<16)
	tail := "" // the begin of a character or of a control sequence
	for {
		n, err := s.terminal.Read(buffer)
		if err != nil {
			s.add("", endOfOutput(err))
			return
		}
		tail += string(buffer[:n])
		if isComplete(tail) {
			s.add(tail, nil)
			tail = ""
		}
	}
}

// endOfOutput returns io.EOF for the error that Linux reports when the shell has ended.
func endOfOutput(err error) error {
	if errors.Is(err, syscall.EIO) {
		return io.EOF
	}
	return err
}

func (s *shell) add(text string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.events = append(s.events, event{time.Since(s.begin), text})
		err = s.screen.write(text)
	}
	s.err = errors.Join(s.err, err)
	close(s.changed)
	s.changed = make(chan struct{})
}

// await waits until the text of the screen satisfies the condition.
func (s *shell) await(ctx context.Context, what string, holds func(text string) bool) error {
	for {
		s.mu.Lock()
		text, changed, err := s.screen.text(), s.changed, s.err
		s.mu.Unlock()
		if holds(text) {
			return nil
		}
		if err == nil {
			select {
			case <-changed:
				continue
			case <-ctx.Done():
				err = ctx.Err()
			}
		}
		return fmt.Errorf("wait for %s: %w; the screen shows:\n%s", what, err, text)
	}
}

// awaitPrompt waits until the shell reads the next command.
func (s *shell) awaitPrompt(ctx context.Context) error {
	return s.await(ctx, "the prompt", func(text string) bool { return strings.HasSuffix("\n"+text, "\n"+strings.TrimSpace(prompt)+"\n") })
}

// press sends the characters of keys to the shell, one after the other.
func (s *shell) press(ctx context.Context, keys string, pause time.Duration) error {
	for _, key := range keys {
		if _, err := s.terminal.WriteString(string(key)); err != nil {
			return err
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
	return nil
}

// sleep is a pause of the user.
func sleep(ctx context.Context, pause time.Duration) error {
	select {
	case <-time.After(pause):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close kills the shell and returns the recording.
func (s *shell) close() []event {
	_ = s.bash.Process.Kill() // fails if the shell has ended
	_ = s.bash.Wait()         // the status is that of a killed process
	<-s.ended
	s.terminal.Close()
	return s.events
}
