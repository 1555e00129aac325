package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s-cli/test/testkit"
)

// A server is a process of k8s-cli-server.
type server struct {
	mode      mode
	world     *environment
	namespace string
	url       string
	address   string
	nats      string // address of its listener for subscribers, or "off"

	*testkit.Process
}

const startTimeout = 2 * time.Minute

// launch starts the process and waits until the server is ready.
func (s *server) launch(ctx context.Context, program string, flags []string) error {
	home, err := s.world.home()
	if err != nil {
		return err
	}
	if s.Process, err = (testkit.Command{Program: program, Args: flags, Home: home}).Start(); err != nil {
		return err
	}
	s.address, err = s.Address(ctx, startTimeout)
	s.url = "http://" + s.address
	return err
}

// as returns the header with the credentials of a user of s.
func (s *server) as(user string) []string {
	switch s.mode {
	case byToken:
		return []string{"Authorization", "Bearer " + tokenOf(user)}
	case byOIDC:
		return []string{"Authorization", "Bearer " + s.world.issuer.token(map[string]any{"sub": user})}
	}
	return []string{"X-User", user}
}

// lives returns an error unless the process is running and has logged no fault.
func (s *server) lives() error {
	said := s.Said()
	if !s.Running() {
		return fmt.Errorf("the process has ended; its log ends with %q", said[max(0, len(said)-400):])
	}
	if m := testkit.Trouble.FindString(said); m != "" {
		return fmt.Errorf("the log has %q", m)
	}
	return nil
}

// servers are the running servers. A server starts when an attack first needs it.
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

// outcomes reports for every server whether it has survived.
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
