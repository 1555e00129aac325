// Package natstest gives tests NATS servers: inside this process, behind TCP, or a
// cluster of three whose network can be cut.
package natstest

import (
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/natsserver"
)

// Timeout is how long a test waits that does not hang.
const Timeout = 20 * time.Second

// Embed starts a server on dir that ends with the test, at the latest.
func Embed(t *testing.T, dir string) *natsserver.Server {
	t.Helper()
	return Start(t, natsserver.Config{Dir: dir})
}

// Start starts a server that ends with the test, at the latest.
func Start(t *testing.T, c natsserver.Config) *natsserver.Server {
	t.Helper()
	s, err := natsserver.Start(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// Connect returns a connection to s that ends with the test.
func Connect(t *testing.T, s *natsserver.Server) *natsconn.Conn {
	t.Helper()
	nc, err := s.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// A Remote is a NATS server that is reached by TCP, can be shut down and be
// brought back.
type Remote struct {
	URL     string
	Options server.Options
	server  *server.Server
}

// Serve starts a server that ends with the test.
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
	options := r.Options // the server writes into its own
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

// Down ends the server; Up brings it back.
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
