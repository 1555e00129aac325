// Package events stores and publishes the events of the fold. Subscribers receive the events,
// and later queries read them. The package is above the log.
package events

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

// The events have a stream of their own and one subject for each object, so that a subscriber can
// select one user or one task. The publisher sends events to ingest subjects, which no client may
// subscribe to, and JetStream republishes each stored event. A subscriber therefore receives each
// event once and in order, and receives no event that JetStream rejected.
const (
	idHeader  = "Event-Id"   // event id, also in the body
	logHeader = "Event-Log"  // id of the log that the event follows from
	idKey     = "k8s-cli-id" // metadata of the stream: a random id, which a restored stream retains

	defaultRetention = 7 * 24 * time.Hour
	diskShare        = 0.05 // of the disk budget of an embedded store; the oldest events are discarded above it

	ackTimeout = 5 * time.Second // for the acknowledgement of an event; a partition can lose the acknowledgement
)

// A Log is the source of the entries from which events follow.
type Log interface {
	// ID returns the id of the log that this pod follows or followed last.
	ID() string

	// AwaitID waits until this pod follows a log, and returns the id of that log.
	AwaitID(ctx context.Context) (string, error)

	// SetPublished records that all events of the entries up to seq are stored, so that
	// compaction may remove these entries. 0 means that this pod does not publish events.
	SetPublished(seq uint64)

	// RestoreBefore passes the latest snapshot that is older than the entry at seq to restore,
	// if the log must be read from a snapshot, and returns the entry after which the replay
	// continues. If lost is not 0, the entries from seq to lost are missing.
	RestoreBefore(ctx context.Context, seq uint64, restore func(io.Reader) error) (at, lost uint64, err error)

	// Entries returns the entries behind the sequence after. The iterator ends only with an
	// error.
	Entries(ctx context.Context, after uint64) iter.Seq2[task.Entry, error]
}

// Config holds the settings of the stream of events.
type Config struct {
	streams.Settings

	Retention time.Duration // for how long events are stored; 0 means a week
	Embedded  bool          // this process stores the stream
}

// A Stream is the stream of events.
type Stream struct {
	js     jetstream.JetStream
	log    Log
	config Config

	published, failures atomic.Uint64 // events that this pod stored, and failed attempts
}

// New returns the stream of the events of log. New does not create the stream in NATS; a
// Publisher does.
func New(nc *natsconn.Conn, log Log, c Config) (*Stream, error) {
	c.Retention = cmp.Or(c.Retention, defaultRetention)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(natsconn.RequestTimeout), jetstream.WithPublishAsyncTimeout(ackTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	return &Stream{js: js, log: log, config: c}, nil
}

// filter returns the subject of the events that match q.
func filter(q task.EventQuery) string {
	switch {
	case q.Key != (task.Key{}):
		e := task.Event{Kind: q.Key.Kind, User: q.User, TaskID: q.Key.ID}
		return subject.OfEvent(e)
	case q.AllUsers:
		return subject.Events
	}
	return subject.EventsOf(q.User)
}

// open finds or creates the stream of events.
func (s *Stream) open(ctx context.Context) (jetstream.Stream, error) {
	want := jetstream.StreamConfig{
		Name:             subject.EventStream,
		Description:      "events of tasks and volumes, see docs/events.md",
		Subjects:         []string{subject.Ingest},
		SubjectTransform: &jetstream.SubjectTransformConfig{Source: subject.Ingest, Destination: subject.Events},
		RePublish:        &jetstream.RePublish{Source: ">", Destination: ">"}, // the transformed subjects
		Storage:          jetstream.FileStorage,
		Discard:          jetstream.DiscardOld,
		DenyDelete:       true, // the sequences stay without gaps
		AllowDirect:      true,
		Replicas:         max(s.config.Replicas, 1),
		MaxAge:           s.config.Retention,
		MaxBytes:         -1,
		Metadata:         map[string]string{idKey: rand.Text()},
	}
	if s.config.Embedded {
		// The leader publishes events again that a crash took away. Events therefore need no
		// sync of their own, and do not delay the syncs of the log.
		want.PersistMode = jetstream.AsyncPersistMode
	}
	disk, err := s.config.Budget(ctx, s.js)
	if err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	if disk >= 0 {
		want.MaxBytes = disk.Portion(diskShare)
	}
	stream, err := s.js.Stream(ctx, subject.EventStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = streams.Create(ctx, s.js, want)
	}
	if err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	has := stream.CachedInfo().Config
	if len(has.Subjects) != 1 || has.Subjects[0] != subject.Ingest {
		return nil, fmt.Errorf("open the event stream: %w: its subjects are %q", errForeign, has.Subjects)
	}
	if disk < 0 {
		s.config.WarnDifferent(has, want)
		return stream, nil
	}
	want.PersistMode = has.PersistMode               // cannot be changed
	want.Metadata = has.Metadata                     // identifies the stream
	want.MaxBytes = max(want.MaxBytes, has.MaxBytes) // never below the present limit, up to which the stream may already have grown
	if stream, err = s.js.UpdateStream(ctx, want); err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	return stream, nil
}

var errForeign = errors.New("stream " + subject.EventStream + " does not hold events of k8s-cli")
