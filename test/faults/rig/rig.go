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

// A Config says what a rig runs.
type Config struct {
	Dir        string // directory of the run: journals, stores, history
	Kubeconfig string // of an administrator of the cluster
	Server     string // path of the program
	Servers    int
	Nodes      int  // NATS nodes; 0 means NATS inside the only server
	MaxJobs    int  // --max-active-jobs; 0 means the default
	Links      bool // links between all NATS nodes, and between them and the servers
}

// A Rig is all running parts.
type Rig struct {
	Servers  []*Server
	Nodes    []*Node
	Cluster  *Cluster
	Recorder *history.Recorder

	config Config
	ports  []int
	links  []*testkit.Link
	tail   *tail // records the log as it grows; nil for NATS inside the only server
}

// New starts all parts and returns when they are ready.
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
		s, err := r.newServer(fmt.Sprintf("s%d", i))
		if err != nil {
			return err
		}
		r.Servers = append(r.Servers, s)
	}
	if err := r.Servers[0].Start(ctx); err != nil { // creates the log
		return err
	}
	if r.config.Nodes > 0 {
		r.tail = r.follow()
	}
	return r.Each(r.Servers[1:], func(s *Server) error { return s.Start(ctx) })
}

// newServer returns a server that is not running yet.
func (r *Rig) newServer(name string) (*Server, error) {
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
	s := &Server{Name: name, URL: "http://" + listen, Proxy: proxy, program: r.config.Server, journal: j}
	s.arguments = []string{"--listen", listen, "--kubeconfig", kubeconfig, "--namespace", r.Cluster.Namespace, "--start-timeout", "10s"}
	if len(r.Nodes) > 0 {
		url := r.natsURL()
		if r.config.Links {
			if url, err = r.linkServer(s); err != nil {
				return nil, err
			}
		}
		s.arguments = append(s.arguments, "--nats-url", url, "--nats-replicas", fmt.Sprint(len(r.Nodes)))
	} else {
		s.arguments = append(s.arguments, "--nats-listen", "off", "--data-dir", r.path(name))
	}
	if r.config.MaxJobs > 0 {
		s.arguments = append(s.arguments, "--max-active-jobs", fmt.Sprint(r.config.MaxJobs))
	}
	return s, nil
}

// Each calls do for several servers concurrently.
func (r *Rig) Each(servers []*Server, do func(*Server) error) error {
	var g errgroup.Group
	for _, s := range servers {
		g.Go(func() error { return do(s) })
	}
	return g.Wait()
}

// Leader waits for a leader. Leader returns the leader and the other servers.
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

// Takeovers returns how often a server became the leader after another one, or after its own
// restart.
func (r *Rig) Takeovers() (n int) {
	for _, s := range r.Servers {
		terms, _ := s.journal.seen()
		n += terms
	}
	return max(n-1, 0)
}

// Trouble returns the journal lines that must not occur, and the servers that ended by
// themselves.
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

// Close stops all parts.
func (r *Rig) Close() {
	for _, s := range r.Servers {
		s.Kill()
		s.Proxy.Close()
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

// port returns a free port below the kernel's range of ephemeral ports. No client gets this
// port, so it is still free when a server restarts.
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
