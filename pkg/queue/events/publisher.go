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
	"k8s-cli/pkg/queue/internal/outage"
	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
)

const (
	publishBatch = 256 // events that are on their way to JetStream at once
	retryPause   = 100 * time.Millisecond
	publishPause = 2 * time.Millisecond // between the beginnings of two of these: those that come meanwhile go together
)

// A Source remembers the events that this pod's fold made: the last ones, since
// it began. Every pod's are the same.
type Source interface {
	// EventsAfter returns the cursor of the first event behind a place; ok is
	// false if not all that are behind it are remembered.
	EventsAfter(after task.EventID) (cursor uint64, ok bool)

	// Events returns up to limit events from a cursor on, and the cursor behind
	// them. If there are none, seq is the last entry that was folded, and more
	// is closed when there may be some. ok is false if the events at the cursor
	// are forgotten.
	Events(cursor uint64, limit int) (events []task.Event, next, seq uint64, more <-chan struct{}, ok bool)
}

// A Replayer folds a part of the log again, for the events that nobody remembers.
type Replayer interface {
	Restore(snapshot io.Reader) error
	Fold(e task.Entry) []task.Event
}

// A Publisher publishes the events of this pod's fold. It is used by one goroutine.
type Publisher struct {
	stream      *Stream
	source      Source
	newReplayer func() Replayer
	outage      *outage.Logger

	id   string       // of the log
	last task.EventID // of the last event in the stream
	seq  uint64       // of the stream's last message
}

// Publisher returns what publishes the events of a pod, once it runs. newReplayer
// returns a Replayer that has folded nothing.
func (s *Stream) Publisher(from Source, newReplayer func() Replayer) *Publisher {
	return &Publisher{
		stream: s, source: from, newReplayer: newReplayer,
		outage: outage.NewLogger(s.config.Logger, "publishing events failed; retrying", "publishing events works again"),
	}
}

// Run publishes events behind what was published before by whomever, until ctx ends.
// It is the leader's. Two at once neither repeat nor mix anything: each event is
// stored only behind the one before it.
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
	errReplaced       = errors.New("the log was replaced or purged")
	errForgotten      = errors.New("more events arrived than this pod buffers")
)

// resume finds out what was published last and goes on behind it. It never returns
// nil.
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
		case p.stream.log.ID() != p.id: // the places of the one mean nothing in the other
			return errReplaced
		case len(events) > 0:
			pause := time.After(publishPause)
			if err := p.publish(ctx, events); err != nil {
				return err
			}
			cursor = next
			if p.last.Seq > 0 { // its entry may have more events
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

// findLastEvent reads which event the stream ends with. An empty one has lost its
// events to their age, if it ever had any: they are not told again, since they
// are older than what is told at all.
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
	p.last = last // the zero place if it is of a log that is no more
	return nil
}

// publish publishes events, and waits until they are stored. Those without a place
// are heard by who listens now, and stored nowhere.
func (p *Publisher) publish(ctx context.Context, events []task.Event) error {
	oldest := time.Now().Add(-p.stream.config.Retention)
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
	if last := events[len(events)-1].ID; last.Compare(p.last) > 0 { // a pod that reads the log late makes what others have told
		p.last = last
	}
	p.outage.Recovered()
	return nil
}

// publishEvent sends one event, to be stored behind the message seq and nowhere else.
// So one that is acknowledged says that all before it are stored: only the last
// of many has to be, and the first, which says what is wrong if it is not this.
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

// sendUnacked sends what JetStream stores without a word.
func (p *Publisher) sendUnacked(m *nats.Msg) error {
	crash.Before(crash.PublishEvent)
	defer crash.After(crash.PublishEvent)
	return p.stream.js.Conn().PublishMsg(m)
}

// publishEphemeral tells subscribers what is not stored.
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

// awaitAck waits until one event is stored or refused.
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
