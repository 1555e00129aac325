package queue

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// An Embedded is a NATS server inside this process, for installations of one
// pod.
type Embedded struct {
	server *server.Server
	lock   *os.File
	key    key // of this process's own connections
}

// EmbedConfig holds the settings of an embedded server.
type EmbedConfig struct {
	Dir        string // where the log is stored; one process at a time
	SyncAlways bool   // every acknowledged entry is on disk, not only in the page cache
	Listen     string // host:port where subscribers reach the events, and nothing else; empty for none
	Logger     server.Logger
}

const (
	startTimeout = 20 * time.Second // for opening and checking the store
	maxPayload   = 1 << 20          // NATS' default; an entry stays below it
)

// Embed starts a NATS server on a directory that no other process uses.
func Embed(c EmbedConfig) (*Embedded, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := lockDir(c.Dir)
	if err != nil {
		return nil, err
	}
	e := &Embedded{lock: lock}
	options, err := e.options(c)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	e.server, err = server.NewServer(options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start NATS in %s: %w", c.Dir, err), lock.Close())
	}
	if c.Logger != nil {
		e.server.SetLoggerV2(c.Logger, false, false, false)
	}
	e.server.Start()
	if !e.server.ReadyForConnections(startTimeout) || !e.server.JetStreamEnabled() {
		e.Close()
		return nil, fmt.Errorf("start NATS in %s: JetStream did not come up; is the directory writable and its disk not full?", c.Dir)
	}
	return e, nil
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

func (e *Embedded) options(c EmbedConfig) (*server.Options, error) {
	own, err := newKey()
	if err != nil {
		return nil, err
	}
	subscriber, err := newKey()
	if err != nil {
		return nil, err
	}
	e.key = own
	o := &server.Options{
		ServerName: "k8s-cli",
		JetStream:  true,
		StoreDir:   c.Dir,
		SyncAlways: c.SyncAlways,
		MaxPayload: maxPayload,
		// Left out, it would be a share of the disk's free space, which shrinks
		// with the log: at some start the log would not fit any more. The log
		// has a limit of its own.
		JetStreamMaxStore: math.MaxInt64 / 2,
		DontListen:        c.Listen == "",
		NoSigs:            true,
		Nkeys: []*server.NkeyUser{
			{Nkey: own.public},
			{Nkey: subscriber.public, Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Deny: []string{">"}},
				Subscribe: &server.SubjectPermission{Allow: []string{eventSubjects}},
			}},
		},
		NoAuthUser:             subscriber.public, // whoever connects without a name
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
	e.server.Shutdown()
	e.server.WaitForShutdown()
	_ = e.lock.Close()
}

// A Conn is a connection to NATS.
type Conn = nats.Conn

// Connect returns a connection to the server that needs no socket.
func (e *Embedded) Connect() (*Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(e.server), nats.Nkey(e.key.public, e.key.pair.Sign), nats.Name(clientName))
	if err != nil {
		return nil, fmt.Errorf("connect to the embedded NATS: %w", err)
	}
	return nc, nil
}

// Dial connects to a NATS server elsewhere and keeps connecting for as long as
// it takes. creds is the path of a credentials file, or empty.
func Dial(url, creds string) (*Conn, error) {
	options := []nats.Option{
		nats.Name(clientName),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectBufSize(-1), // an append fails at once and is repeated, rather than wait in a buffer
		nats.PingInterval(5 * time.Second),
		nats.MaxPingsOutstanding(2),
	}
	if creds != "" {
		options = append(options, nats.UserCredentials(creds))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to NATS at %s: %w", url, err)
	}
	return nc, nil
}
