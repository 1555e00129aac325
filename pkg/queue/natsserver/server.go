// Package natsserver runs a NATS server inside this process. Installations of one pod use it.
// The package starts the server, reopens a broken store, and lets subscribers receive events
// and nothing else. Installations with an external NATS do not use this package.
package natsserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/task"
)

// A Server is a NATS server inside this process. Run reopens its store after a failure.
type Server struct {
	config     Config
	lock       *os.File
	own        key // of the connections of this process
	subscriber key // of clients without credentials

	mu     sync.Mutex
	server *server.Server // replaced when the store is reopened
	broken error          // why the store accepts no writes; nil while it does
}

// Config holds the settings of an embedded server.
type Config struct {
	Dir        string // where the log is stored; for one process at a time
	SyncAlways bool   // an acknowledged entry is on disk, not only in the page cache
	Listen     string // host:port at which subscribers receive events, and nothing else; empty for none
	Logger     *slog.Logger

	// SyncInterval is the time between two syncs of data that is not synced by each write; 0 means
	// 1 s. The default of NATS is two minutes.
	SyncInterval time.Duration

	// Subscribers authenticates subscribers, so that each one receives the events of its user.
	// nil means that every client of Listen receives all events.
	Subscribers Authenticator
}

// An Authenticator authenticates subscribers by their tokens.
type Authenticator interface {
	// Identify returns the identity that a token proves. An error means that the subscriber is
	// rejected.
	Identify(ctx context.Context, token string) (task.Identity, error)
}

const (
	startTimeout = 20 * time.Second // for opening and verifying the store
	syncInterval = time.Second      // the default of Config.SyncInterval
)

// Start starts a NATS server on a directory. Start fails if another process uses the
// directory.
func Start(c Config) (*Server, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := lockDir(c.Dir)
	if err != nil {
		return nil, err
	}
	n := &Server{config: c, lock: lock}
	if n.own, err = newKey(); err == nil {
		n.subscriber, err = newKey()
	}
	if err == nil {
		n.server, err = n.open()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if address, ok := n.server.Addr().(*net.TCPAddr); ok {
		n.config.Listen = address.String() // the same port after each reopening of the store
	}
	return n, nil
}

// open starts a server on the store.
func (n *Server) open() (*server.Server, error) {
	dir := n.config.Dir
	options, err := n.options()
	if err != nil {
		return nil, err
	}
	callout := n.setAuthCallout(options)
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("start NATS in %s: %w", dir, err)
	}
	callout.server = s
	s.SetLoggerV2(newNATSLogger(n.config.Logger), false, false, false)
	s.Start()
	if !s.JetStreamEnabled() || !s.ReadyForConnections(startTimeout) {
		shutDown(s)
		return nil, fmt.Errorf("start NATS in %s: JetStream did not come up; is the directory writable and its disk not full?", dir)
	}
	if err := exportEvents(s); err != nil {
		shutDown(s)
		return nil, fmt.Errorf("start NATS in %s: %w", dir, err)
	}
	return s, nil
}

// A key identifies a user of the embedded server for the lifetime of the server.
type key struct {
	pair   nkeys.KeyPair
	public string
}

func newKey() (key, error) {
	pair, err := nkeys.CreateUser()
	if err != nil {
		return key{}, fmt.Errorf("make a key for the embedded NATS: %w", err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return key{}, fmt.Errorf("make a key for the embedded NATS: %w", err)
	}
	return key{pair, public}, nil
}

func (n *Server) options() (*server.Options, error) {
	c := n.config
	subscribers := server.NewAccount(subscriberAccount)
	o := &server.Options{
		ServerName:   "k8s-cli",
		JetStream:    true,
		StoreDir:     c.Dir,
		SyncAlways:   c.SyncAlways,
		SyncInterval: cmp.Or(c.SyncInterval, syncInterval),
		MaxPayload:   natsconn.MaxPayload,
		// The default is a portion of the free space of the disk, which shrinks as the log
		// grows: after some restart the log would no longer fit. The log has a limit of its
		// own.
		JetStreamMaxStore: math.MaxInt64 / 2,
		DontListen:        c.Listen == "",
		NoSigs:            true,
		Nkeys: []*server.NkeyUser{
			{Nkey: n.own.public},
			{Nkey: n.subscriber.public, Account: subscribers, Permissions: subscriberPermissions()},
		},
		Accounts:               []*server.Account{subscribers},
		NoAuthUser:             n.subscriber.public, // clients without credentials
		DisableJetStreamBanner: true,
	}
	if c.Listen == "" {
		return o, nil
	}
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("NATS listener: %w", err)
	}
	o.Host = host
	if o.Port, err = strconv.Atoi(port); err != nil {
		return nil, fmt.Errorf("NATS listener: port %q is not a number", port)
	}
	if o.Port == 0 {
		o.Port = server.RANDOM_PORT
	}
	return o, nil
}

// Addr returns host and port at which subscribers receive events; empty if there is no
// listener.
func (n *Server) Addr() string { return n.config.Listen }

// Close stops the server after all acknowledged data has been written.
func (n *Server) Close() {
	shutDown(n.current())
	_ = n.lock.Close()
}

func shutDown(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func (n *Server) current() *server.Server {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.server
}

// Connect returns an in-process connection to the server. The connection survives a reopening
// of the store.
func (n *Server) Connect() (*natsconn.Conn, error) {
	options := append(natsconn.Options(), nats.InProcessServer(link{n}), nats.Nkey(n.own.public, n.own.pair.Sign))
	nc, err := nats.Connect("", options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded NATS: %w", err)
	}
	return nc, nil
}

// A link connects to the NATS server that runs at present.
type link struct{ server *Server }

// InProcessConn implements nats.InProcessConnProvider. nats.go calls it for every connection.
func (l link) InProcessConn() (net.Conn, error) { return l.server.current().InProcessConn() }
