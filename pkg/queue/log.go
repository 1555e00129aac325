// Package queue is the log on NATS JetStream: one stream, one order. It appends
// commands, follows the log, and knows where it ends; what a command means is
// its Folder's business.
package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/sync/errgroup"

	"k8s-cli/pkg/task"
)

// The log has one subject, since it has one order. Subscribers may hear events,
// never the log.
const (
	logStream  = "LOG"
	logSubject = "log"
)

const requestTimeout = 2 * time.Second // for one question to NATS

// A Folder takes the entries of the log, in order, from one goroutine.
type Folder interface {
	// Fold applies an entry and returns a verdict for each of its commands. An
	// error means that this release cannot read the entry: it is not called again.
	Fold(task.Entry) ([]task.Verdict, error)

	// Reset forgets everything: the log is folded from its start.
	Reset()

	// Restore replaces everything by a snapshot, after which the log is folded
	// on. An error means that it cannot be understood, and that nothing changed.
	Restore(snapshot io.Reader) error

	// Written returns the number of the last entry of a writer that is folded,
	// 0 if there is none, and the verdicts on it.
	Written(writer string) (number uint64, verdicts []task.Verdict)
}

// Config holds the settings that have a sensible zero.
type Config struct {
	Replicas int           // copies of the log in a NATS cluster; 0 means 1
	Events   time.Duration // how long events stay; 0 means a week
	Sole     bool          // this process is the log's only writer: its end is known without asking
	Dir      string        // where the log is stored, if it is on a disk of ours, which it may not fill; empty for elsewhere
	Embedded *Embedded     // the server that stores the log, if it is ours: its store may break; nil for elsewhere
	Logger   *slog.Logger
}

// A Log is a client of the log. Run keeps it going.
type Log struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	config Config

	writer  *writer
	ends    *ends
	room    room
	follows *follower

	bucket  jetstream.ObjectStore // of the snapshots
	growth  growth
	archive *Blobs

	archiveReaders chan struct{} // holds one for each that looks into the archive
	archiveTime    time.Duration // for all that goes there before one cut

	figures figures
	told    atomic.Uint64 // last entry all events of which are published, as far as this pod publishes them
}

// Open finds or creates the log. Everything but Run may be called at once, and
// waits until Run has come that far.
func Open(ctx context.Context, nc *Conn, c Config) (*Log, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(requestTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	config := jetstream.StreamConfig{
		Name:       logStream,
		Subjects:   []string{logSubject},
		Storage:    jetstream.FileStorage,
		Discard:    jetstream.DiscardNew,
		MaxMsgSize: maxPayload,
		MaxBytes:   -1,
	}
	before, err := js.Stream(ctx, logStream)
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
	case err != nil: // it may be there, with settings that are not ours to change
		return nil, fmt.Errorf("open the log: %w", err)
	default:
		info := before.CachedInfo()
		if !slices.Equal(info.Config.Subjects, config.Subjects) {
			return nil, fmt.Errorf("open the log: %w: its subjects are %q", errForeign, info.Config.Subjects)
		}
		config = info.Config
	}
	config.Replicas = max(c.Replicas, 1)
	config.DenyDelete = true // a hole in the middle would stop every pod that starts
	disk, err := budgetOf(ctx, js, c.Dir)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	if disk >= 0 {
		config.MaxBytes = disk.share(logShare)
	}
	stream, err := js.CreateOrUpdateStream(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	bucket, err := openBucket(ctx, js, config.Replicas, disk.share(snapshotShare))
	if err != nil {
		return nil, err
	}
	archive, err := newBlobs(ctx, js, c, archived, archiveLimit)
	if err != nil {
		return nil, err
	}
	l := &Log{js: js, stream: stream, bucket: bucket, archive: archive, archiveReaders: make(chan struct{}, readers), archiveTime: storeTimeout / 2, config: c}
	l.writer = newWriter(l)
	l.ends = newEnds(l)
	l.follows = newFollower(l)
	return l, nil
}

// Run follows the log into folder and writes what is appended, until ctx ends
// or the folder meets an entry it cannot read, or the stream is somebody else's.
func (l *Log) Run(ctx context.Context, folder Folder) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return l.follows.run(ctx, folder) })
	g.Go(func() error { return l.writer.run(ctx) })
	g.Go(func() error { return l.ends.run(ctx) })
	return g.Wait()
}

// errForeign means that somebody else's stream has the log's name.
var errForeign = errors.New("stream " + logStream + " is not a log of k8s-cli")

// An identity tells one log from another that has its name.
type identity struct {
	id      string    // random, in every entry
	created time.Time // of the stream
}

// identify reads whose log the stream holds, and names it if it is empty. All
// pods that find it empty try; the first one's entry stays.
func (l *Log) identify(ctx context.Context) (identity, *jetstream.StreamInfo, error) {
	info, err := l.info(ctx)
	if err != nil {
		return identity{}, nil, err
	}
	if info.State.Msgs == 0 {
		if err := l.name(ctx, info.State.LastSeq); err != nil {
			return identity{}, nil, err
		}
		if info, err = l.info(ctx); err != nil {
			return identity{}, nil, err
		}
	}
	first, err := l.stream.GetMsg(ctx, info.State.FirstSeq)
	if err != nil {
		return identity{}, nil, fmt.Errorf("read the log's first entry: %w", err)
	}
	e, err := task.DecodeEntry(first.Data)
	if err != nil || e.Log == "" {
		return identity{}, nil, fmt.Errorf("%w: its first message names none", errForeign)
	}
	return identity{e.Log, info.Created}, info, nil
}

func (l *Log) name(ctx context.Context, last uint64) error {
	raw, err := task.Entry{Version: task.EntryVersion, Log: newID()}.Encode()
	if err != nil {
		return fmt.Errorf("name the log: %w", err)
	}
	_, err = l.js.Publish(ctx, logSubject, raw, jetstream.WithExpectLastSequence(last))
	if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
		return nil // another pod was first
	}
	if err != nil {
		return fmt.Errorf("name the log: %w", err)
	}
	return nil
}

func (l *Log) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	info, err := l.stream.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the log's end: %w", err)
	}
	l.room.learn(info)
	return info, nil
}
