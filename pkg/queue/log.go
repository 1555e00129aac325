// Package queue is the log on NATS JetStream: one stream, one order. It appends
// commands, follows the log, and knows where it ends; what a command means is
// its StateMachine's business.
package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"k8s-cli/pkg/queue/blob"
	"k8s-cli/pkg/queue/internal/subject"
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

// A Log is a client of the log. Run keeps it going.
type Log struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	config Config
	store  DiskStore

	writer   *writer
	index    *readIndex
	clock    logClock
	capacity capacity
	follower *follower

	snapshots      *blob.Bucket
	snapshotPolicy snapshotPolicy
	uncovered      atomic.Bool // the log was cut, and no snapshot of the state before the cut is known
	archive        partStore

	archiveReaders chan struct{} // holds one for each that looks into the archive
	archiveTime    time.Duration // for all that goes there before one cut

	counters         counters
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
	archive, err := blob.OpenStore(ctx, js, c.settings(), submissionsKind, archiveLimit)
	if err != nil {
		return nil, err
	}
	l := &Log{
		js: js, stream: stream, snapshots: snapshots, archive: archive, config: c, store: elsewhere{},
		archiveReaders: make(chan struct{}, maxArchiveReaders), archiveTime: storeTimeout / 2,
	}
	if c.Store != nil {
		l.store = c.Store
	}
	l.writer = newWriter(l)
	l.index = newReadIndex(l)
	l.follower = newFollower(l)
	return l, nil
}

// Run follows the log into machine and writes what is appended, until ctx ends
// or the state machine meets an entry it cannot read, or the stream is somebody else's.
func (l *Log) Run(ctx context.Context, machine StateMachine) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.follower.run(ctx, machine) })
	g.Go(func() error { return l.writer.run(ctx) })
	g.Go(func() error { return l.index.run(ctx) })
	return g.Wait()
}

// errForeign means that the stream with the log's name holds something else.
var errForeign = errors.New("stream " + subject.LogStream + " is not a log of k8s-cli")

// An identity tells one log from another that has its name.
type identity struct {
	id      string    // random, in every entry
	created time.Time // of the stream
}

// A logHead is what a follower has to know of the log before it reads on.
type logHead struct {
	identity
	jetstream.StreamState      // confirmed
	complete              bool // no entry is missing in front of the first one
}

// identify reads whose log the stream holds, and names the log if the stream is
// empty. All pods that find it empty try; the first one's entry stays.
func (l *Log) identify(ctx context.Context) (logHead, error) {
	info, err := l.confirmedInfo(ctx)
	if err != nil {
		return logHead{}, err
	}
	if info.State.Msgs == 0 {
		if _, err := l.appendBarrier(ctx, ""); err != nil {
			return logHead{}, err
		}
		if info, err = l.confirmedInfo(ctx); err != nil {
			return logHead{}, err
		}
	}
	first, err := l.stream.GetMsg(ctx, info.State.FirstSeq)
	if err != nil {
		return logHead{}, fmt.Errorf("read the log's first entry: %w", err)
	}
	e, err := task.DecodeEntry(first.Data)
	if err != nil || e.Log == "" {
		return logHead{}, fmt.Errorf("%w: its first message names no log", errForeign)
	}
	return logHead{identity{e.Log, info.Created}, info.State, e.StartsLog || info.State.FirstSeq == 1}, nil
}

func (l *Log) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	info, _, err := l.streamInfo(ctx)
	if err == nil {
		l.capacity.update(info)
	}
	return info, err
}
