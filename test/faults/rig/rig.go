package rig

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"k8s-cli/test/faults/history"
	"k8s-cli/test/testkit"
)

// Programs are the paths of what is run.
type Programs struct{ Server, NATS string }

// A Config says what to run.
type Config struct {
	Dir        string // of the run: journals, stores, history
	Kubeconfig string // of the cluster, as its administrator
	Programs   Programs
	Servers    int
	Nodes      int      // of NATS; 0 means inside the one server
	Flags      []string // of the servers, beyond those that the rig needs
	Wires      bool     // between the servers and the one node of NATS
	Links      bool     // between all nodes of NATS, and between them and the servers
	Tail       bool     // record the log as it grows: what is cut meanwhile too
}

// A Rig is all that runs.
type Rig struct {
	Servers  []*Server
	Nodes    []*Node
	Cluster  *Cluster
	Recorder *history.Recorder

	config Config
	ports  []int
	links  []*testkit.Link
	guests []*Server
	tail   *tail // of the log; nil if only what is left of it at the end is recorded
}

// New starts everything and returns once it is ready.
func New(ctx context.Context, c Config) (*Rig, error) {
	r := &Rig{config: c, Recorder: history.NewRecorder(c.Dir)}
	var err error
	if r.Cluster, err = joinCluster(ctx, c.Kubeconfig, r.Recorder); err != nil {
		return nil, err
	}
	if err := r.start(ctx); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func (r *Rig) start(ctx context.Context) error {
	if r.config.Nodes > 0 {
		if err := r.addNodes(ctx, r.config.Nodes); err != nil {
			return err
		}
	}
	for i := range r.config.Servers {
		s, err := r.newServer(fmt.Sprintf("s%d", i), "--nats-replicas", fmt.Sprint(len(r.Nodes)))
		if err != nil {
			return err
		}
		r.Servers = append(r.Servers, s)
	}
	if err := r.Servers[0].Start(ctx); err != nil { // which makes the log
		return err
	}
	if r.config.Tail {
		r.tail = r.follow()
	}
	return r.Each(r.Servers[1:], func(s *Server) error { return s.Start(ctx) })
}

// newServer returns a server that does not run yet. The flags of an external NATS
// are left out if there is none.
func (r *Rig) newServer(name string, natsFlags ...string) (*Server, error) {
	proxy, err := newProxy(r.Cluster.Config)
	if err != nil {
		return nil, err
	}
	kubeconfig := r.path(name + ".kubeconfig")
	if err := testkit.WriteKubeconfig(kubeconfig, proxy.URL); err != nil {
		return nil, fmt.Errorf("kubeconfig: %w", err)
	}
	j, err := newJournal(r.path(name + ".log"))
	if err != nil {
		return nil, err
	}
	listen := fmt.Sprintf("127.0.0.1:%d", r.port())
	s := &Server{Name: name, URL: "http://" + listen, Proxy: proxy, program: r.config.Programs.Server, journal: j}
	s.arguments = []string{"--listen", listen, "--kubeconfig", kubeconfig, "--namespace", r.Cluster.Namespace, "--start-timeout", "10s"}
	if len(r.Nodes) > 0 {
		url, err := r.natsURLOf(s)
		if err != nil {
			return nil, err
		}
		s.arguments = append(append(s.arguments, "--nats-url", url), natsFlags...)
	} else {
		s.arguments = append(s.arguments, "--nats-listen", "off", "--data-dir", r.path(name))
	}
	s.arguments = append(s.arguments, r.config.Flags...)
	return s, nil
}

// natsURLOf returns where a server reaches NATS.
func (r *Rig) natsURLOf(s *Server) (url string, err error) {
	switch {
	case r.config.Links:
		return r.linkServer(s)
	case r.config.Wires:
		if s.Wire, err = newWire(r.natsURL()); err != nil {
			return "", err
		}
		return s.Wire.URL, nil
	}
	return r.natsURL(), nil
}

// ByHand returns a server as somebody starts it who does not know how many copies
// NATS keeps. It is none of the rig's Servers.
func (r *Rig) ByHand() (*Server, error) {
	s, err := r.newServer(fmt.Sprintf("by-hand-%d", len(r.guests)))
	if err == nil {
		r.guests = append(r.guests, s)
	}
	return s, err
}

// Each does something to several servers at once.
func (r *Rig) Each(servers []*Server, do func(*Server) error) error {
	var g errgroup.Group
	for _, s := range servers {
		g.Go(func() error { return do(s) })
	}
	return g.Wait()
}

// Leader returns the server that leads and those that do not, once there is one.
func (r *Rig) Leader(ctx context.Context) (leader *Server, others []*Server, err error) {
	err = testkit.Until(ctx, "a server to lead", func() (string, bool) {
		leader, others = nil, nil
		leaders := 0
		for _, s := range r.Servers {
			if s.Runs() && s.Health(ctx).Leading {
				leader = s
				leaders++
			} else {
				others = append(others, s)
			}
		}
		return fmt.Sprintf("%d lead", leaders), leaders == 1
	})
	return leader, others, err
}

// Takeovers returns how often a server began to lead after another one had, or
// after it had been started again.
func (r *Rig) Takeovers() (n int) {
	for _, s := range r.Servers {
		terms, _ := s.journal.seen()
		n += terms
	}
	return max(n-1, 0)
}

// Trouble returns the lines that no journal may hold, and the servers that
// ended by themselves.
func (r *Rig) Trouble() (lines []string) {
	for _, s := range r.Servers {
		_, trouble := s.journal.seen()
		for _, line := range trouble {
			lines = append(lines, s.Name+": "+line)
		}
		if s.Died() {
			lines = append(lines, s.Name+" ended by itself")
		}
	}
	return lines
}

// Close ends everything.
func (r *Rig) Close() {
	for _, s := range slices.Concat(r.Servers, r.guests) {
		s.Kill()
		s.Proxy.Close()
		if s.Wire != nil {
			s.Wire.Close()
		}
	}
	if r.tail != nil {
		r.tail.end()
	}
	for _, n := range r.Nodes {
		n.Kill()
	}
	for _, l := range r.links {
		l.Close()
	}
	r.Cluster.leave()
}

func (r *Rig) path(name string) string { return filepath.Join(r.config.Dir, name) }

// port returns one that nobody listens on, below the range from which the kernel
// gives ports to clients: it is still free when a server is started again.
func (r *Rig) port() int {
	const first, last = 20000, 32000
	from := first + os.Getpid()%1000*11
	for port := from; ; port++ {
		if port >= last {
			port = first
		}
		if slices.Contains(r.ports, port) {
			continue
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		_ = l.Close()
		r.ports = append(r.ports, port)
		return port
	}
}
