package natstest

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
)

// A Cluster is three NATS servers. The routes of the third server run through Links, which a
// test can cut, slow down and heal.
type Cluster struct {
	servers [3]*server.Server
	options [3]server.Options
	Links   [2]*Route // from the third server to the first and the second
}

// StartCluster starts a cluster that stops when the test ends.
func StartCluster(t *testing.T) *Cluster {
	t.Helper()
	c := &Cluster{}
	ports := [3]int{freePort(), freePort(), freePort()}
	for i := range c.Links {
		c.Links[i] = NewRoute(t, ports[i])
	}
	routes := [3][]string{{}, {at(ports[0])}, {c.Links[0].URL, c.Links[1].URL}}
	for i := range c.servers {
		c.options[i] = server.Options{
			ServerName: fmt.Sprintf("n%d", i), Host: "127.0.0.1", Port: freePort(), NoLog: true, NoSigs: true,
			JetStream: true, StoreDir: t.TempDir(), DisableJetStreamBanner: true,
			Cluster: server.ClusterOpts{Name: "test", Host: "127.0.0.1", Port: ports[i], NoAdvertise: true, PoolSize: -1},
			Routes:  server.RoutesFromStr(""),
		}
		// Only the links are advertised, so that the servers find no other route to or from
		// the third server.
		if i == 2 {
			c.options[i].Cluster.Advertise = "127.0.0.1:1"
		} else {
			c.options[i].Cluster.Advertise = c.Links[i].address
		}
		for _, r := range routes[i] {
			u, err := url.Parse(r)
			if err != nil {
				t.Fatal(err)
			}
			c.options[i].Routes = append(c.options[i].Routes, u)
		}
	}
	for i := range c.servers {
		c.Up(t, i)
	}
	t.Cleanup(func() {
		for _, s := range c.servers {
			if s != nil {
				s.Shutdown()
				s.WaitForShutdown()
			}
		}
	})
	c.awaitMeta(t)
	return c
}

func at(port int) string { return fmt.Sprintf("nats://127.0.0.1:%d", port) }

var portsTaken atomic.Int32

// freePort returns a port on which a server can listen, stop, and listen again. The ports are
// below those of outgoing connections, so that no connection takes a port in the meantime, and
// each process has ports of its own.
func freePort() int {
	for {
		port := 10_000 + os.Getpid()%200*100 + int(portsTaken.Add(1))%100
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			_ = l.Close()
			return port
		}
	}
}

// Up starts server i.
func (c *Cluster) Up(t *testing.T, i int) {
	t.Helper()
	options := c.options[i]
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(Timeout) {
		t.Fatalf("server %d does not come up", i)
	}
	c.servers[i] = s
}

// Down stops server i.
func (c *Cluster) Down(i int) {
	c.servers[i].Shutdown()
	c.servers[i].WaitForShutdown()
}

// awaitMeta waits until the meta group, which places streams, has a leader and three members.
func (c *Cluster) awaitMeta(t *testing.T) {
	t.Helper()
	Eventually(t, "a cluster of three", func() bool {
		for _, s := range c.servers {
			if s.JetStreamIsLeader() {
				return len(s.JetStreamClusterPeers()) == 3
			}
		}
		return false
	})
}

// Eventually polls is until it returns true, because a NATS server reports no changes.
func Eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for late := time.After(Timeout); !is(); {
		select {
		case <-again.C:
		case <-late:
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// Dial connects to server i and to no other server.
func (c *Cluster) Dial(t *testing.T, i int) *nats.Conn {
	t.Helper()
	options := append(natsconn.Options(), nats.IgnoreDiscoveredServers())
	return dial(t, func() (*nats.Conn, error) { return nats.Connect(at(c.options[i].Port), options...) })
}

// MakeLeader makes server i the leader of a stream.
func (c *Cluster) MakeLeader(t *testing.T, nc *nats.Conn, stream string, i int) {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	name := c.options[i].ServerName
	Eventually(t, name+" to lead "+stream, func() bool {
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			return false
		}
		if c := s.CachedInfo().Cluster; c.Leader == name {
			return len(c.Replicas) == 2 && c.Replicas[0].Current && c.Replicas[1].Current
		}
		_, _ = nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+stream, []byte(`{"placement":{"preferred":"`+name+`"}}`), time.Second)
		return false
	})
}

// Leads reports whether server i takes itself for the leader of a stream.
func (c *Cluster) Leads(i int, stream string) bool {
	return c.servers[i].JetStreamIsStreamLeader(server.DEFAULT_GLOBAL_ACCOUNT, stream)
}

// Cut disconnects the third server from the other two.
func (c *Cluster) Cut() {
	for _, l := range c.Links {
		l.Cut()
	}
}

// Heal reverts Cut.
func (c *Cluster) Heal() {
	for _, l := range c.Links {
		l.Heal()
	}
}

// A Route is a proxy in front of one server, through which the third server reaches it.
type Route struct {
	URL             string
	address, target string

	listener net.Listener

	mu    sync.Mutex
	isCut bool
	rate  int // bytes a second in either direction; 0 for any
	open  map[net.Conn]bool
}

// NewRoute returns a route to a port of this machine. The route ends with the test.
func NewRoute(t *testing.T, port int) *Route {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Route{
		address: listener.Addr().String(), URL: "nats://" + listener.Addr().String(), target: "127.0.0.1:" + strconv.Itoa(port),
		listener: listener, open: map[net.Conn]bool{},
	}
	t.Cleanup(func() {
		_ = listener.Close()
		l.Cut()
	})
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go l.carry(from)
		}
	}()
	return l
}

func (r *Route) carry(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", r.target)
	if err != nil {
		return
	}
	defer to.Close()
	if !r.hold(from, to) {
		return
	}
	go func() {
		defer from.Close()
		defer to.Close()
		r.copy(from, to)
	}()
	r.copy(to, from)
}

func (r *Route) hold(both ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range both {
		r.open[c] = true
	}
	return !r.isCut
}

func (r *Route) copy(to io.Writer, from io.Reader) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
			r.mu.Lock()
			rate := r.rate
			r.mu.Unlock()
			if rate > 0 {
				<-time.After(time.Duration(n) * time.Second / time.Duration(rate))
			}
		}
		if err != nil {
			return
		}
	}
}

// Cut closes all connections and rejects new ones until Heal.
func (r *Route) Cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = true
	for c := range r.open {
		_ = c.Close()
		delete(r.open, c)
	}
}

// Heal lets the route accept connections again.
func (r *Route) Heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isCut = false
}

// Throttle limits each direction to rate bytes a second; 0 means no limit.
func (r *Route) Throttle(rate int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rate = rate
}
