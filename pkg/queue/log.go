// Package queue is the log on NATS JetStream. The log is one stream with one order. The
// package appends commands, follows the log, and finds the end of the log. A StateMachine
// gives the commands their meaning.
package queue

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

// A StateMachine applies the entries of the log, in order, from one goroutine.
type StateMachine interface {
	// Fold applies an entry and returns a result for each of its commands. An error means that
	// this release cannot read the entry; Fold is not called again after an error.
	Fold(task.Entry) ([]task.Result, error)

	// Reset discards the whole state: the log is folded from its first entry.
	Reset()

	// Restore replaces the whole state with a snapshot, and later entries are folded on top.
	// An error means that the snapshot cannot be decoded, and that the state did not change.
	Restore(snapshot io.Reader) error

	// Written returns the number of the last folded entry of a writer or 0, and the results of its
	// commands.
	Written(writer string) (number uint64, results []task.Result)
}

// Config holds the settings of a Log; the zero value of each setting is usable.
type Config struct {
	Replicas     int           // replicas of a stream that is created in a NATS cluster; 0 means 1
	SingleWriter bool          // this process is the only writer of the log and knows its end without asking NATS
	Dir          string        // directory of an embedded store; the log leaves a reserve of free space there; empty for an external NATS
	Store        EmbeddedStore // store inside this process; nil for an external NATS
	Logger       *slog.Logger

	// AppendTimeout is how long a call waits for the log to store its commands; 0 means 5 s.
	AppendTimeout time.Duration

	// AcceptLogLoss lets a pod start although entries are missing that no snapshot covers.
	AcceptLogLoss bool
}

func (c Config) settings() streams.Settings {
	return streams.Settings{Replicas: c.Replicas, Dir: c.Dir, Logger: c.Logger}
}

// A Log is a client of the log; Run keeps the Log up to date. Each part has one responsibility
// and its own state. The exported methods of Log combine the parts.
type Log struct {
	*logStream
	*writer
	*readIndex
	*follower
	*snapshotStore
	*archive

	config Config
	store  EmbeddedStore

	publishedThrough atomic.Uint64 // last entry whose events are all published; 0 on a pod that does not publish
}

// Open finds or creates the log. All methods may be called before Run; a method that needs the
// followed log waits for Run.
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
		Bucket:      streams.SnapshotBucket,
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
	l := &Log{config: c, store: externalStore{}}
	if c.Store != nil {
		l.store = c.Store
	}
	l.logStream = &logStream{js: js, stream: stream, logger: c.Logger, dir: c.Dir}
	l.snapshotStore = &snapshotStore{logStream: l.logStream, bucket: snapshots}
	l.follower = newFollower(l.logStream, l.snapshotStore, c.AcceptLogLoss)
	l.writer = newWriter(l.logStream, l.follower, l.store, cmp.Or(c.AppendTimeout, appendTimeout))
	l.follower.writer = l.writer
	l.readIndex = newReadIndex(l.logStream, l.follower, c.SingleWriter)
	l.archive = newArchive(l.logStream, l.follower, archived)
	return l, nil
}

// Run applies the log to machine and writes the appended commands. Run returns when ctx ends,
// when the state machine cannot read an entry, or when the stream is not a log of this
// project.
func (l *Log) Run(ctx context.Context, machine StateMachine) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.follower.run(ctx, machine) })
	g.Go(func() error { return l.writer.run(ctx) })
	g.Go(func() error { return l.readIndex.run(ctx) })
	return g.Wait()
}
