package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A server is a process of k8s-cli-server.
type server struct {
	mode      mode
	world     *environment
	namespace string
	url       string
	address   string
	nats      string // address of its listener for subscribers, or off

	cmd   *exec.Cmd
	log   journal
	ended chan struct{}
}

const startTimeout = 2 * time.Minute

// launch starts the process and waits until it is ready.
func (s *server) launch(ctx context.Context, program string, flags []string) error {
	home, err := s.world.home()
	if err != nil {
		return err
	}
	s.log.listens = make(chan struct{})
	s.cmd = exec.Command(program, flags...)
	s.cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "GORACE=atexit_sleep_ms=0"}
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is in its log
		close(s.ended)
	}()
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	select {
	case <-s.log.listens:
		s.address = s.log.address
		s.url = "http://" + s.address
		return nil
	case <-s.ended:
		return fmt.Errorf("the server ended before it was ready: %s", s.log.String())
	case <-ctx.Done():
		return fmt.Errorf("the server is not ready: %w: %s", ctx.Err(), s.log.String())
	}
}

// as returns the header by which a user of s shows who it is.
func (s *server) as(user string) []string {
	switch s.mode {
	case byToken:
		return []string{"Authorization", "Bearer " + tokenOf(user)}
	case byOIDC:
		return []string{"Authorization", "Bearer " + s.world.issuer.token(map[string]any{"sub": user})}
	}
	return []string{"X-User", user}
}

// terminate ends the process as an operator does, and then by force.
func (s *server) terminate() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	patience := time.NewTimer(20 * time.Second)
	defer patience.Stop()
	select {
	case <-s.ended:
	case <-patience.C:
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

var peakLine = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peak returns the most memory that the process has had, in bytes.
func (s *server) peak() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	m := peakLine.FindSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("/proc/%d/status has no VmHWM", s.cmd.Process.Pid)
	}
	kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
	return kilobytes << 10, err
}

// fault is what no log of a server may have.
var fault = regexp.MustCompile(`(?m)WARNING: DATA RACE|^panic: .*|^fatal error: .*|^.*msg="request failed".*`)

// lives reports whether the process still runs, and without a fault.
func (s *server) lives() error {
	select {
	case <-s.ended:
		return fmt.Errorf("the process has ended; its log ends with %q", s.log.tail())
	default:
	}
	if m := fault.FindString(s.log.String()); m != "" {
		return fmt.Errorf("the log has %q", m)
	}
	return nil
}

// servers are those that run, each started when it is needed first.
type servers struct {
	mu      sync.Mutex
	started map[mode]*starting
}

type starting struct {
	once   sync.Once
	server *server
	err    error
}

func (all *servers) get(m mode, start func() (*server, error)) (*server, error) {
	all.mu.Lock()
	one, ok := all.started[m]
	if !ok {
		one = &starting{}
		all.started[m] = one
	}
	all.mu.Unlock()
	one.once.Do(func() { one.server, one.err = start() })
	return one.server, one.err
}

// running returns a server that was started before.
func (all *servers) running(m mode) *server {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.started[m].server
}

func (all *servers) all() (running []*server) {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, one := range all.started {
		if one.server != nil {
			running = append(running, one.server)
		}
	}
	return running
}

// outcomes says of every server that it has survived.
func (all *servers) outcomes() (done []outcome) {
	for _, s := range all.all() {
		o := outcome{"servers", control(attack{name: string(s.mode) + " survives", want: "the process runs, without a panic or a request that failed"}), result{held: true}}
		if err := s.lives(); err != nil {
			o.got, o.held = err.Error(), false
		}
		done = append(done, o)
	}
	return done
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// A journal keeps what a server logs, and notices when it is ready.
type journal struct {
	mu      sync.Mutex
	text    bytes.Buffer
	listens chan struct{} // closed when address is known
	address string
}

var readyLine = regexp.MustCompile(`msg=ready listen=(\S+)\n`)

// Write takes a part of the log.
func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.text.Write(p)
	if j.address == "" {
		if m := readyLine.FindSubmatch(j.text.Bytes()); m != nil {
			j.address = string(m[1])
			close(j.listens)
		}
	}
	return len(p), nil
}

// String returns the log so far.
func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

func (j *journal) tail() string {
	text := j.String()
	return text[max(0, len(text)-400):]
}
