package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
)

// Events have a stream of their own and one subject per object, so that a
// subscriber can listen to one user or to one task. They are published to other
// subjects, which nobody listens to, and JetStream republishes what it has taken:
// so a subscriber hears each event once, in order, and none that was refused.
const (
	eventIDHeader  = "Event-Id"  // the id of the event, also in its body
	eventLogHeader = "Event-Log" // id of the log that it follows from

	defaultRetention = 7 * 24 * time.Hour
	eventShare       = 0.05 // of the disk of an embedded store, at which the oldest events go
)

// eventFilter returns the subject of what q asks for.
func eventFilter(q task.EventQuery) string {
	switch {
	case q.Key != (task.Key{}):
		e := task.Event{Kind: q.Key.Kind, User: q.User, TaskID: q.Key.ID}
		return subject.OfEvent(e)
	case q.AllUsers:
		return subject.Events
	}
	return subject.EventsOf(q.User)
}

// retention is how long events stay.
func (l *Log) retention() time.Duration {
	if l.config.Events > 0 {
		return l.config.Events
	}
	return defaultRetention
}

// openEvents finds or creates the stream of events.
func (l *Log) openEvents(ctx context.Context) (jetstream.Stream, error) {
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
		Replicas:         max(l.config.Replicas, 1),
		MaxAge:           l.retention(),
		MaxBytes:         -1,
	}
	if l.config.Store != nil {
		// What a crash takes away the leader tells again: so no event waits for a
		// sync of its own, nor keeps the log from one.
		want.PersistMode = jetstream.AsyncPersistMode
	}
	disk, err := l.config.settings().Budget(ctx, l.js)
	if err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	if disk >= 0 {
		want.MaxBytes = disk.Portion(eventShare)
	}
	stream, err := l.js.Stream(ctx, subject.EventStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = l.js.CreateStream(ctx, want)
	}
	if err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	has := stream.CachedInfo().Config
	if len(has.Subjects) != 1 || has.Subjects[0] != subject.Ingest {
		return nil, fmt.Errorf("open the event stream: %w: its subjects are %q", errForeignEvents, has.Subjects)
	}
	if disk < 0 {
		l.config.settings().WarnDifferent(has, want)
		return stream, nil
	}
	want.PersistMode = has.PersistMode               // cannot be changed
	want.MaxBytes = max(want.MaxBytes, has.MaxBytes) // what it has is on the disk already
	if stream, err = l.js.UpdateStream(ctx, want); err != nil {
		return nil, fmt.Errorf("open the event stream: %w", err)
	}
	return stream, nil
}

var errForeignEvents = errors.New("stream " + subject.EventStream + " does not hold events of k8s-cli")
