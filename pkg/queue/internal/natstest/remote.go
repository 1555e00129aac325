// Package natstest provides NATS servers for tests: inside this process, behind TCP, or as a
// cluster of three whose network a test can cut.
package natstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/natsserver"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Timeout is the limit of one wait. The limit ends a test that hangs, and is far longer than
// what a slow machine needs.
const Timeout = 5 * time.Minute

// A slow machine exceeds the limit of the product, which only the tests of outages need.
func init() { natsconn.RequestTimeout = 15 * time.Second }

// Context returns a context for requests to a server that answers all of them. With the
// deadline of the context, nats.go waits longer for an answer than by default.
func Context(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	t.Cleanup(cancel)
	return ctx
}

// JetStream returns the API of JetStream behind a connection.
func JetStream(t *testing.T, nc *nats.Conn) jetstream.JetStream {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// Stream returns a stream that exists.
func Stream(t *testing.T, nc *nats.Conn, name string) jetstream.Stream {
	t.Helper()
	stream, err := JetStream(t, nc).Stream(Context(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return stream
}

// SkipIfShort skips a long test with -short.
func SkipIfShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("the test is long; make test-unit runs it")
	}
}

// Rounds returns n, or a tenth of n with -short.
func Rounds(n int) int {
	if testing.Short() {
		return max(n/10, 1)
	}
	return n
}

// Patiently repeats do while NATS does not answer in time. The requests of nats.go and of package
// queue have limits that a slow machine exceeds. A purge may take effect after its limit, so that
// the next attempt finds a message gone.
func Patiently(t *testing.T, do func() error) {
	t.Helper()
	Eventually(t, "an answer of NATS", func() bool {
		err := do()
		late := func(limit error) bool { return errors.Is(err, limit) }
		if err != nil && !slices.ContainsFunc([]error{context.DeadlineExceeded, nats.ErrTimeout, problem.Unavailable, jetstream.ErrMsgNotFound}, late) {
			t.Fatal(err)
		}
		return err == nil
	})
}

// Submission returns a submission that differs from others by its id.
func Submission(id string) task.Command {
	return task.Command{Submit: &task.Submit{ID: id, User: "ann", Task: task.Spec{Run: "true"}}}
}

// Names returns n numbered names.
func Names(prefix string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return all
}

// dial repeats connect while a slow machine delays the connection beyond the limits of nats.go
// and of NATS.
func dial(t *testing.T, connect func() (*nats.Conn, error)) (nc *nats.Conn) {
	t.Helper()
	var err error
	Eventually(t, "a connection", func() bool {
		nc, err = connect()
		return err == nil
	})
	t.Cleanup(nc.Close)
	return nc
}

// Subscribe connects a client of an embedded server, and returns the errors that the client
// receives.
func Subscribe(t *testing.T, s *natsserver.Server, options ...nats.Option) (*nats.Conn, chan error) {
	t.Helper()
	errs := make(chan error, 16)
	options = append(options, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { errs <- err }))
	return dial(t, func() (*nats.Conn, error) { return nats.Connect("nats://"+s.Addr(), options...) }), errs
}

// Embed starts a server on dir. The server stops when the test ends, or earlier.
func Embed(t *testing.T, dir string) *natsserver.Server {
	t.Helper()
	return Start(t, natsserver.Config{Dir: dir})
}

// Start starts a server. The server stops when the test ends, or earlier. The server syncs no data
// in the background: the first sync races with the creation of a stream that takes half a second
// (nats-server 2.15, server/filestore.go: setSyncTimer).
func Start(t *testing.T, c natsserver.Config) *natsserver.Server {
	t.Helper()
	c.SyncInterval = 10 * Timeout
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
	return dial(t, s.Connect)
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
		Host: "127.0.0.1", Port: freePort(), NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(), DisableJetStreamBanner: true,
	}}
	r.Up(t)
	t.Cleanup(r.Down)
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
	return dial(t, func() (*natsconn.Conn, error) { return natsconn.Remote{URL: url}.Dial() })
}
