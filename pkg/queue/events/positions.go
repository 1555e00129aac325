package events

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

// Bounds returns the bounds of the stream. The error is of kind problem.NotFound if no pod has
// published an event yet.
func (s *Stream) Bounds(ctx context.Context) (task.EventBounds, error) {
	stream, err := s.js.Stream(ctx, subject.EventStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return task.EventBounds{}, problem.New(problem.NotFound, "the stream of events does not exist yet")
	}
	if err != nil {
		return task.EventBounds{}, fmt.Errorf("read the bounds of the stream of events: %w", err)
	}
	info := stream.CachedInfo()
	id := cmp.Or(info.Config.Metadata[idKey], info.Created.UTC().Format(time.RFC3339Nano))
	return task.EventBounds{Stream: id, First: info.State.FirstSeq, Last: info.State.LastSeq}, nil
}

// FollowTasks passes the position and the task of each stored event of a task from a position
// on to pass, in order and without gaps, until ctx ends or reading fails.
func (s *Stream) FollowTasks(ctx context.Context, from uint64, pass func(position uint64, id string)) error {
	consumer, err := s.js.OrderedConsumer(ctx, subject.EventStream, jetstream.OrderedConsumerConfig{
		FilterSubjects:    []string{subject.TaskEvents},
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       max(from, 1),
		HeadersOnly:       true, // the subject names the task
		InactiveThreshold: consumerIdle,
	})
	if err != nil {
		return fmt.Errorf("follow the stream of events: %w", err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("follow the stream of events: %w", err)
	}
	defer messages.Stop()
	for {
		m, err := messages.Next(jetstream.NextContext(ctx))
		if err != nil {
			return fmt.Errorf("follow the stream of events: %w", err)
		}
		about, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("read the position of an event: %w", err)
		}
		pass(about.Sequence.Stream, subject.TaskOf(m.Subject()))
	}
}

// NextOfTasks returns the first stored event of a task of user at or after a position. The error
// is of kind problem.NotFound if there is none.
func (s *Stream) NextOfTasks(ctx context.Context, user string, from uint64) (stored task.StoredEvent, err error) {
	m, err := streams.Get(ctx, s.js, subject.EventStream, streams.GetRequest{Seq: max(from, 1), Next: subject.TaskEventsOf(user)})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return stored, problem.New(problem.NotFound, "no event is stored after this position")
	}
	if err != nil {
		return stored, fmt.Errorf("read an event: %w", err)
	}
	header, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		return stored, fmt.Errorf("read the header of an event: %w", err)
	}
	stored.Position, stored.Log = m.Seq, header.Get(logHeader)
	if err := json.Unmarshal(m.Data, &stored.Event); err != nil {
		return stored, fmt.Errorf("read an event: %w", err)
	}
	return stored, nil
}
