package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"k8s-cli/pkg/task"
)

// An Embedded is a NATS server inside this process, for installations of one
// pod. Run keeps its store open.
type Embedded struct {
	config     EmbedConfig
	lock       *os.File
	own        key // of this process's connections
	subscriber key // of everybody else's

	mu      sync.Mutex
	server  *server.Server // another one after the store was opened again
	broken  error          // why the store takes nothing, nil while it does
	changed notifier       // notified when broken changes
}

// EmbedConfig holds the settings of an embedded server.
type EmbedConfig struct {
	Dir        string // where the log is stored; one process at a time
	SyncAlways bool   // every acknowledged entry is on disk, not only in the page cache
	Listen     string // host:port where subscribers reach the events, and nothing else; empty for none
	Logger     *slog.Logger

	// Subscriber says whose a token is, so that a subscriber hears what is that
	// user's. nil means that whoever reaches Listen hears everything.
	Subscriber func(ctx context.Context, token string) (task.Identity, error)
}

const (
	startTimeout = 20 * time.Second // for opening and checking the store
	maxPayload   = 1 << 20          // NATS' default; an entry stays below it

	// syncInterval is between syncs of what was written, unless every write is
	// synced. NATS' default is two minutes.
	syncInterval = time.Second
)

// Embed starts a NATS server on a directory that no other process uses.
func Embed(c EmbedConfig) (*Embedded, error) {
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
	e := &Embedded{config: c, lock: lock}
	if e.own, err = newKey(); err == nil {
		e.subscriber, err = newKey()
	}
	if err == nil {
		e.server, err = e.open()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if address, ok := e.server.Addr().(*net.TCPAddr); ok {
		e.config.Listen = address.String() // the same one whenever the store is opened again
	}
	return e, nil
}

// open starts a server on the store.
func (e *Embedded) open() (*server.Server, error) {
	dir := e.config.Dir
	options, err := e.options()
	if err != nil {
		return nil, err
	}
	callout := e.setAuthCallout(options)
	s, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("start NATS in %s: %w", dir, err)
	}
	callout.server = s
	s.SetLoggerV2(newNATSLogger(e.config.Logger), false, false, false)
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

const clientName = "k8s-cli-server" // of our connections, as NATS' monitoring shows them

// A key stands for a user of the embedded server, for as long as it runs.
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

func (e *Embedded) options() (*server.Options, error) {
	c := e.config
	subscribers := server.NewAccount(subscriberAccount)
	o := &server.Options{
		ServerName:   "k8s-cli",
		JetStream:    true,
		StoreDir:     c.Dir,
		SyncAlways:   c.SyncAlways,
		SyncInterval: syncInterval,
		MaxPayload:   maxPayload,
		// Left out, it would be a share of the disk's free space, which shrinks
		// with the log: at some start the log would not fit any more. The log
		// has a limit of its own.
		JetStreamMaxStore: math.MaxInt64 / 2,
		DontListen:        c.Listen == "",
		NoSigs:            true,
		Nkeys: []*server.NkeyUser{
			{Nkey: e.own.public},
			{Nkey: e.subscriber.public, Account: subscribers, Permissions: subscriberPermissions()},
		},
		Accounts:               []*server.Account{subscribers},
		NoAuthUser:             e.subscriber.public, // whoever connects without a name
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

// lockDir takes the directory for this process. The lock is the kernel's: it
// goes with the process, however that ends.
func lockDir(dir string) (*os.File, error) {
	path := filepath.Join(dir, "lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		owner, _ := os.ReadFile(path)
		_ = f.Close()
		return nil, fmt.Errorf("data directory %s is in use by another k8s-cli-server (process %s); stop it or choose another --data-dir", dir, owner)
	}
	if err := errors.Join(f.Truncate(0), writePID(f)); err != nil {
		return nil, errors.Join(fmt.Errorf("data directory: %w", err), f.Close())
	}
	return f, nil
}

func writePID(f *os.File) error {
	_, err := fmt.Fprintf(f, "%d", os.Getpid())
	return err
}

// Close stops the server after everything it acknowledged has been written.
func (e *Embedded) Close() {
	shutDown(e.current())
	_ = e.lock.Close()
}

func shutDown(s *server.Server) {
	s.Shutdown()
	s.WaitForShutdown()
}

func (e *Embedded) current() *server.Server {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.server
}

// A Conn is a connection to NATS.
type Conn = nats.Conn

// Connect returns a connection to the server that needs no socket. It outlives
// the server's being opened again.
func (e *Embedded) Connect() (*Conn, error) {
	options := append(persistent(), nats.InProcessServer(link{e}), nats.Nkey(e.own.public, e.own.pair.Sign))
	nc, err := nats.Connect("", options...)
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded NATS: %w", err)
	}
	return nc, nil
}

// A link leads a connection to the server that runs at present.
type link struct{ e *Embedded }

// InProcessConn is called by nats.go whenever it connects.
func (l link) InProcessConn() (net.Conn, error) { return l.e.current().InProcessConn() }

// persistent are the options of a connection that is made again for as long as
// it takes.
func persistent() []nats.Option {
	return []nats.Option{
		nats.Name(clientName),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), // an append fails at once and is repeated, rather than wait in a buffer
	}
}

// Dial connects to a NATS server elsewhere and keeps connecting for as long as
// it takes. creds is the path of a credentials file, or empty.
func Dial(url, creds string) (*Conn, error) {
	options := append(persistent(), nats.PingInterval(5*time.Second), nats.MaxPingsOutstanding(2))
	if creds != "" {
		options = append(options, nats.UserCredentials(creds))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", WithoutPasswords(url), err)
	}
	return nc, nil
}

// WithoutPasswords returns the URLs of NATS servers, with commas between them, as
// they may be shown.
func WithoutPasswords(urls string) string {
	var shown []string
	for one := range strings.SplitSeq(urls, ",") {
		scheme, rest, found := strings.Cut(one, "://")
		if !found {
			scheme, rest = "nats", one
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
		shown = append(shown, scheme+"://"+rest)
	}
	return strings.Join(shown, ",")
}
