package events

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/crash"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

const (
	publishBatch = 256 // events in flight to JetStream at once
	retryPause   = 100 * time.Millisecond
	publishPause = 2 * time.Millisecond // shortest time between the starts of two batches; events that arrive in between share a batch
)

// A Source holds the most recent events that the fold of this pod produced. The folds of all
// pods produce the same events.
type Source interface {
	// EventsAfter returns the cursor of the first event after an event id; ok is false if the
	// Source does not hold all events after that id.
	EventsAfter(after task.EventID) (cursor uint64, ok bool)

	// Events returns up to limit events from a cursor on, and the cursor after them. Without
	// events, seq is the last folded entry, and more is closed when further events may exist. ok is
	// false if the Source no longer holds the events at the cursor.
	Events(cursor uint64, limit int) (events []task.Event, next, seq uint64, more <-chan struct{}, ok bool)
}

// A Replayer folds a part of the log again to produce events that the Source no longer holds.
type Replayer interface {
	Restore(snapshot io.Reader) error
	Fold(e task.Entry) []task.Event
}

// A Publisher publishes the events of this pod's fold. Only one goroutine may use a Publisher.
type Publisher struct {
	stream      *Stream
	source      Source
	newReplayer func() Replayer
	outage      *streams.OutageLogger

	id   string       // id of the log
	last task.EventID // id of the last event in the stream
	seq  uint64       // sequence of the last message in the stream
}

// Publisher returns a Publisher of the events of this pod. newReplayer returns a Replayer that
// has folded no entry.
func (s *Stream) Publisher(from Source, newReplayer func() Replayer) *Publisher {
	return &Publisher{
		stream: s, source: from, newReplayer: newReplayer,
		outage: streams.NewOutageLogger(s.config.Logger, "publishing events failed; retrying", "publishing events works again"),
	}
}

// Run publishes the events after the last published one, whichever pod published it, until ctx
// ends. The leader calls Run. Two pods that call Run at once neither repeat nor reorder
// events: JetStream stores each event only after the event before it.
func (p *Publisher) Run(ctx context.Context) error {
	defer p.stream.log.SetPublished(0)
	for {
		err := p.resume(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errOtherPublisher) {
			p.stream.failures.Add(1)
			p.outage.Failed(err)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

var (
	errOtherPublisher = errors.New("another pod is publishing events")
	errReplaced       = errors.New("the command log was replaced or purged")
	errForgotten      = errors.New("more events arrived than this pod buffers")
)

// resume finds the last published event and publishes the events after it. resume never
// returns nil.
func (p *Publisher) resume(ctx context.Context) error {
	id, err := p.stream.log.AwaitID(ctx)
	if err != nil {
		return err
	}
	p.id = id
	if err := p.findLastEvent(ctx); err != nil {
		return err
	}
	cursor, ok := p.source.EventsAfter(p.last)
	if !ok {
		if err := p.republish(ctx); err != nil {
			return err
		}
		if cursor, ok = p.source.EventsAfter(p.last); !ok {
			return errForgotten
		}
	}
	for {
		events, next, seq, more, ok := p.source.Events(cursor, publishBatch)
		switch {
		case !ok:
			return errForgotten
		case p.stream.log.ID() != p.id: // event ids of one log have no meaning in another
			return errReplaced
		case len(events) > 0:
			pause := time.After(publishPause)
			if err := p.publish(ctx, events); err != nil {
				return err
			}
			cursor = next
			if p.last.Seq > 0 { // the entry may have more events
				p.stream.log.SetPublished(p.last.Seq - 1)
			}
			if len(events) < publishBatch {
				<-pause
			}
			continue
		}
		p.stream.log.SetPublished(seq)
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// findLastEvent reads the id of the last event in the stream. If the stream is empty, all of
// its events have expired or none was published. Expired events are not published again,
// because publish skips events that are older than the retention.
func (p *Publisher) findLastEvent(ctx context.Context) error {
	stream, err := p.stream.open(ctx)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("request the last event: %w", err)
	}
	p.last, p.seq = task.EventID{}, info.State.LastSeq
	if info.State.Msgs == 0 {
		return nil
	}
	last, err := p.stream.lastEvent(ctx, info.State)
	if err != nil {
		return fmt.Errorf("read the last event: %w", err)
	}
	p.last = last // the zero id if the event belongs to a log that was replaced
	return nil
}

// newest returns the largest time of the events with an id. Their times are those of the log.
func newest(events []task.Event) (at time.Time) {
	for _, e := range events {
		if e.ID != (task.EventID{}) && e.Time.After(at) {
			at = e.Time
		}
	}
	return at
}

// publish publishes events and waits until they are stored. Events without an id go only to
// present subscribers and are not stored.
func (p *Publisher) publish(ctx context.Context, events []task.Event) error {
	oldest := newest(events).Add(-p.stream.config.Retention) // by the log: the clock of one server may be wrong
	isStored := func(e task.Event) bool {
		return e.ID != (task.EventID{}) && e.ID.Compare(p.last) > 0 && e.Time.After(oldest)
	}
	left := 0
	for _, e := range events {
		if isStored(e) {
			left++
		}
	}
	var acks []jetstream.PubAckFuture
	var failed error
	seq := p.seq
	for _, e := range events {
		switch {
		case e.ID == (task.EventID{}):
			failed = p.publishEphemeral(e)
		case isStored(e):
			left--
			var ack jetstream.PubAckFuture
			if ack, failed = p.publishEvent(e, seq, seq == p.seq || left == 0); ack != nil {
				acks = append(acks, ack)
			}
			seq++
		}
		if failed != nil {
			break
		}
	}
	for _, ack := range acks {
		if err := awaitAck(ctx, ack); err != nil && failed == nil {
			failed = err
		}
	}
	if failed != nil {
		return failed
	}
	p.stream.published.Add(seq - p.seq)
	p.seq = seq
	if last := events[len(events)-1].ID; last.Compare(p.last) > 0 { // a pod that folds the log late produces events that are published already
		p.last = last
	}
	p.outage.Recovered()
	return nil
}

// publishEvent sends one event, which JetStream stores only directly after the message seq. An
// acknowledged event therefore proves that all events before it are stored. Only the last
// event of a batch must be acknowledged, and the first, whose error shows that seq is not the
// last message.
func (p *Publisher) publishEvent(e task.Event, seq uint64, acked bool) (ack jetstream.PubAckFuture, err error) {
	raw, err := task.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	m := &nats.Msg{Subject: subject.OfIngest(e), Data: raw, Header: nats.Header{
		idHeader:                        {e.ID.String()},
		logHeader:                       {p.id},
		jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(seq, 10)},
	}}
	if acked {
		ack, err = p.sendAcked(m)
	} else {
		err = p.sendUnacked(m)
	}
	if err != nil {
		return nil, fmt.Errorf("publish event %s: %w", e.ID, err)
	}
	return ack, nil
}

func (p *Publisher) sendAcked(m *nats.Msg) (jetstream.PubAckFuture, error) {
	crash.Before(crash.PublishEvent)
	defer crash.After(crash.PublishEvent)
	return p.stream.js.PublishMsgAsync(m)
}

// sendUnacked sends an event that JetStream stores without acknowledgement.
func (p *Publisher) sendUnacked(m *nats.Msg) error {
	crash.Before(crash.PublishEvent)
	defer crash.After(crash.PublishEvent)
	return p.stream.js.Conn().PublishMsg(m)
}

// publishEphemeral sends an event to present subscribers; the event is not stored.
func (p *Publisher) publishEphemeral(e task.Event) error {
	raw, err := task.Marshal(e)
	if err == nil {
		err = p.stream.js.Conn().Publish(subject.OfEvent(e), raw)
	}
	if err != nil {
		return fmt.Errorf("publish progress: %w", err)
	}
	return nil
}

// awaitAck waits until JetStream has stored or rejected one event.
func awaitAck(ctx context.Context, ack jetstream.PubAckFuture) error {
	select {
	case <-ack.Ok():
		return nil
	case err := <-ack.Err():
		if e, ok := errors.AsType[*jetstream.APIError](err); ok && e.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
			return errOtherPublisher
		}
		return fmt.Errorf("store an event: %w", err)
	case <-ctx.Done():
		return ctx.Err()
	}
}
