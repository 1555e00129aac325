// Package queue is the log on NATS JetStream: one stream, one order. It appends
// commands, follows the log, and knows where it ends; what a command means is
// its StateMachine's business.
package queue

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

// A StateMachine takes the entries of the log, in order, from one goroutine.
type StateMachine interface {
	// Fold applies an entry and returns a verdict for each of its commands. An
	// error means that this release cannot read the entry: it is not called again.
	Fold(task.Entry) ([]task.Result, error)

	// Reset forgets everything: the log is folded from its start.
	Reset()

	// Restore replaces everything by a snapshot, after which the log is folded
	// on. An error means that it cannot be understood, and that nothing changed.
	Restore(snapshot io.Reader) error

	// Written returns the number of the last entry of a writer that is folded,
	// 0 if there is none, and the verdicts on it.
	Written(writer string) (number uint64, results []task.Result)
}

// Config holds the settings that have a sensible zero.
type Config struct {
	Replicas     int       // copies of a stream that is created in a NATS cluster; 0 means 1
	SingleWriter bool      // this process is the log's only writer: its end is known without asking
	Dir          string    // where the log is stored, if it is on a disk of ours, which it may not fill; empty for elsewhere
	Store        DiskStore // what stores the log, if that is this process; nil for elsewhere
	Logger       *slog.Logger

	// AcceptLoss lets a pod start though the log was cut and no snapshot holds the
	// state before the cut.
	AcceptLoss bool
}

func (c Config) settings() streams.Settings {
	return streams.Settings{Replicas: c.Replicas, Dir: c.Dir, Logger: c.Logger}
}

// A Log is a client of the log. Run keeps it going. Each of its parts knows one thing
// and has its own state; the Log has what their exported methods do.
type Log struct {
	*logStream
	*writer
	*readIndex
	*follower
	*snapshotStore
	*archive

	config Config
	store  DiskStore

	publishedThrough atomic.Uint64 // last entry all events of which are published, as far as this pod publishes them
}

// Open finds or creates the log. Everything but Run may be called at once, and
// waits until Run has come that far.
func Open(ctx context.Context, nc *natsconn.Conn, c Config) (*Log, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if got := nc.MaxPayload(); got < natsconn.MaxPayload {
		return nil, fmt.Errorf("open the log: NATS accepts messages of at most %d bytes, but the log needs %d; set max_payload of every NATS server to %d or more", got, natsconn.MaxPayload, natsconn.MaxPayload)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsconn.RequestTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	disk, err := c.settings().Budget(ctx, js)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	stream, err := openLogStream(ctx, js, c.settings(), disk.Portion(logShare))
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	snapshots, err := blob.OpenBucket(ctx, js, c.settings(), jetstream.ObjectStoreConfig{
		Bucket:      snapshotBucket,
		Description: "snapshots of the state, from which a server starts",
		MaxBytes:    disk.Portion(snapshotShare),
		Compression: true,
	})
	if err != nil {
		return nil, fmt.Errorf("open the snapshots of the log: %w", err)
	}
	archived, err := blob.OpenStore(ctx, js, c.settings(), submissionsKind, archiveLimit)
	if err != nil {
		return nil, err
	}
	l := &Log{config: c, store: elsewhere{}}
	if c.Store != nil {
		l.store = c.Store
	}
	l.logStream = &logStream{js: js, stream: stream, logger: c.Logger, dir: c.Dir}
	l.snapshotStore = &snapshotStore{logStream: l.logStream, bucket: snapshots}
	l.follower = newFollower(l.logStream, l.snapshotStore, c.AcceptLoss)
	l.writer = newWriter(l.logStream, l.follower, l.store)
	l.follower.writer = l.writer
	l.readIndex = newReadIndex(l.logStream, l.follower, c.SingleWriter)
	l.archive = newArchive(l.logStream, l.follower, archived)
	return l, nil
}

// Run follows the log into machine and writes what is appended, until ctx ends
// or the state machine meets an entry it cannot read, or the stream is somebody else's.
func (l *Log) Run(ctx context.Context, machine StateMachine) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.follower.run(ctx, machine) })
	g.Go(func() error { return l.writer.run(ctx) })
	g.Go(func() error { return l.readIndex.run(ctx) })
	return g.Wait()
}
