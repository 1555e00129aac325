// Package natstest provides NATS servers for tests: inside this process, behind TCP, or as a
// cluster of three whose network a test can cut.
package natstest

import (
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/natsserver"
)

// Timeout is the limit of one wait; a test that waits longer has failed.
const Timeout = 20 * time.Second

// Embed starts a server on dir. The server stops when the test ends, or earlier.
func Embed(t *testing.T, dir string) *natsserver.Server {
	t.Helper()
	return Start(t, natsserver.Config{Dir: dir})
}

// Start starts a server. The server stops when the test ends, or earlier.
func Start(t *testing.T, c natsserver.Config) *natsserver.Server {
	t.Helper()
	s, err := natsserver.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Connect returns a connection to s that is closed when the test ends.
func Connect(t *testing.T, s *natsserver.Server) *natsconn.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// A Remote is a NATS server behind TCP that a test can stop and start again.
type Remote struct {
	URL     string
	Options server.Options
	server  *server.Server
}

// Serve starts a server that stops when the test ends.
func Serve(t *testing.T) *Remote {
	t.Helper()
	r := &Remote{Options: server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), DisableJetStreamBanner: true,
	}}
	r.Up(t)
	t.Cleanup(r.Down)
	r.Options.Port = r.server.Addr().(*net.TCPAddr).Port
	return r
}

// Up starts the server.
func (r *Remote) Up(t *testing.T) {
	t.Helper()
	options := r.Options // the server modifies its options
	s, err := server.NewServer(&options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(Timeout) {
		t.Fatal("the NATS server does not come up")
	}
	r.server, r.URL = s, s.ClientURL()
}

// Down stops the server; Up starts it again.
func (r *Remote) Down() {
	r.server.Shutdown()
	r.server.WaitForShutdown()
}

// Dial connects to r as k8s-cli-server does.
func (r *Remote) Dial(t *testing.T) *natsconn.Conn { return Dial(t, r.URL) }

// Dial connects to a server as k8s-cli-server does.
func Dial(t *testing.T, url string) *natsconn.Conn {
	t.Helper()
	nc, err := natsconn.Dial(url, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}
