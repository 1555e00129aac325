// Package events stores and publishes what the fold of the log says about tasks and
// volumes, for subscribers and for those who ask later. It sits above the log.
package events

import (
	"cmp"
	"context"
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

// Events have a stream of their own and one subject per object, so that a
// subscriber can listen to one user or to one task. They are published to other
// subjects, which nobody listens to, and JetStream republishes what it has taken:
// so a subscriber hears each event once, in order, and none that was refused.
const (
	idHeader  = "Event-Id"  // the id of the event, also in its body
	logHeader = "Event-Log" // id of the log that it follows from

	defaultRetention = 7 * 24 * time.Hour
	diskShare        = 0.05 // of the disk of an embedded store, at which the oldest events go

	ackTimeout = 5 * time.Second // for the acknowledgement of an event, which a partition may take away
)

// A Log is what events follow from.
type Log interface {
	// ID returns the id of the log that this pod follows, or followed last.
	ID() string

	// AwaitID waits until this pod follows a log and returns the id of the log.
	AwaitID(ctx context.Context) (string, error)

	// SetPublished notes that all events of the entries up to seq are stored: these
	// entries may go. 0 means that this pod does not publish events.
	SetPublished(seq uint64)

	// RestoreBefore gives restore the youngest snapshot that is older than the entry
	// at seq, if the log has to be read from one, and returns the entry behind which
	// the log goes on. If lost is not 0, the entries between seq and lost are missing.
	RestoreBefore(ctx context.Context, seq uint64, restore func(io.Reader) error) (at, lost uint64, err error)

	// Entries returns the entries behind one, without end. It ends with an error.
	Entries(ctx context.Context, after uint64) iter.Seq2[task.Entry, error]
}

// Config holds the settings of the stream of events.
type Config struct {
	streams.Settings

	Retention time.Duration // how long events stay; 0 means a week
	Embedded  bool          // the stream is stored by this process
}

// A Stream is the stream of events.
type Stream struct {
	js     jetstream.JetStream
	log    Log
	config Config

	published, failures atomic.Uint64 // events that this pod stored, and attempts that failed
}

// New returns the stream of the events of log. A Publisher creates it.
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

// filter returns the subject of what q asks for.
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
		RePublish:        &jetstream.RePublish{Source: ">", Destination: ">"}, // as transformed
		Storage:          jetstream.FileStorage,
		Discard:          jetstream.DiscardOld,
		DenyDelete:       true, // no hole in the middle
		AllowDirect:      true,
		Replicas:         max(s.config.Replicas, 1),
		MaxAge:           s.config.Retention,
		MaxBytes:         -1,
	}
	if s.config.Embedded {
		// What a crash takes away the leader tells again: so no event waits for a
		// sync of its own, nor keeps the log from one.
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
		stream, err = s.js.CreateStream(ctx, want)
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
	want.MaxBytes = max(want.MaxBytes, has.MaxBytes) // what it has is on the disk already
	if stream, err = s.js.UpdateStream(ctx, want); err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	return stream, nil
}

var errForeign = errors.New("stream " + subject.EventStream + " does not hold events of k8s-cli")
