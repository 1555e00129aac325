package queue

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
	"k8s-cli/pkg/task"
)

const (
	publishBatch = 256                  // events that are on their way to JetStream at once
	publishPause = 2 * time.Millisecond // between the beginnings of two of these: those that come meanwhile go together
)

// An EventSource remembers the events that this pod's fold made: the last ones, since
// it began. Every pod's are the same.
type EventSource interface {
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

// PublishEvents publishes the events of this pod's fold, behind what was published
// before by whomever, until ctx ends. It is the leader's. Two at once neither
// repeat nor mix anything: each event is stored only behind the one before it.
func (l *Log) PublishEvents(ctx context.Context, from EventSource, newReplayer func() Replayer) error {
	t := &publisher{log: l, source: from, newReplayer: newReplayer}
	t.outage = outageLogger{log: l.config.Logger, message: "publishing events failed; retrying", recoveredMessage: "publishing events works again"}
	defer l.publishedThrough.Store(0)
	for {
		err := t.run(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errOtherPublisher) {
			l.counters.eventFailures.Add(1)
			t.outage.failed(err)
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A publisher publishes events. It is used by one goroutine.
type publisher struct {
	log         *Log
	source      EventSource
	newReplayer func() Replayer
	outage      outageLogger

	id   string       // of the log
	last task.EventID // of the last event in the stream
	seq  uint64       // of the stream's last message
}

var (
	errOtherPublisher = errors.New("another pod is publishing events")
	errForgotten      = errors.New("more events arrived than this pod buffers")
)

// run finds out what was published last and goes on behind it. It never returns
// nil.
func (t *publisher) run(ctx context.Context) error {
	if err := t.log.follower.awaitIdentified(ctx); err != nil {
		return err
	}
	t.id = t.log.follower.id()
	if err := t.findLastEvent(ctx); err != nil {
		return err
	}
	cursor, ok := t.source.EventsAfter(t.last)
	if !ok {
		if err := t.republish(ctx); err != nil {
			return err
		}
		if cursor, ok = t.source.EventsAfter(t.last); !ok {
			return errForgotten
		}
	}
	for {
		events, next, seq, more, ok := t.source.Events(cursor, publishBatch)
		switch {
		case !ok:
			return errForgotten
		case t.log.follower.id() != t.id: // the places of the one mean nothing in the other
			return errReplaced
		case len(events) > 0:
			pause := time.After(publishPause)
			if err := t.publish(ctx, events); err != nil {
				return err
			}
			cursor = next
			if t.last.Seq > 0 { // its entry may have more events
				t.log.publishedThrough.Store(t.last.Seq - 1)
			}
			if len(events) < publishBatch {
				<-pause
			}
			continue
		}
		t.log.publishedThrough.Store(seq)
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
func (t *publisher) findLastEvent(ctx context.Context) error {
	stream, err := t.log.openEvents(ctx)
	if err != nil {
		return err
	}
	info, err := stream.Info(ctx)
	if err != nil {
		return fmt.Errorf("request the last event: %w", err)
	}
	t.last, t.seq = task.EventID{}, info.State.LastSeq
	if info.State.Msgs == 0 {
		return nil
	}
	last, err := t.log.lastEvent(ctx, info.State)
	if err != nil {
		return fmt.Errorf("read the last event: %w", err)
	}
	t.last = last // the zero place if it is of a log that is no more
	return nil
}

// publish publishes events, and waits until they are stored. Those without a place
// are heard by who listens now, and stored nowhere.
func (t *publisher) publish(ctx context.Context, events []task.Event) error {
	oldest := time.Now().Add(-t.log.retention())
	isStored := func(e task.Event) bool {
		return e.ID != (task.EventID{}) && e.ID.Compare(t.last) > 0 && e.Time.After(oldest)
	}
	left := 0
	for _, e := range events {
		if isStored(e) {
			left++
		}
	}
	var acks []jetstream.PubAckFuture
	var failed error
	seq := t.seq
	for _, e := range events {
		switch {
		case e.ID == (task.EventID{}):
			failed = t.publishEphemeral(e)
		case isStored(e):
			left--
			var ack jetstream.PubAckFuture
			if ack, failed = t.publishEvent(e, seq, seq == t.seq || left == 0); ack != nil {
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
	t.log.counters.events.Add(seq - t.seq)
	t.seq = seq
	if last := events[len(events)-1].ID; last.Compare(t.last) > 0 { // a pod that reads the log late makes what others have told
		t.last = last
	}
	t.outage.recovered()
	return nil
}

// publishEvent sends one event, to be stored behind the message seq and nowhere else.
// So one that is acknowledged says that all before it are stored: only the last
// of many has to be, and the first, which says what is wrong if it is not this.
func (t *publisher) publishEvent(e task.Event, seq uint64, acked bool) (ack jetstream.PubAckFuture, err error) {
	raw, err := task.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode event %s: %w", e.ID, err)
	}
	m := &nats.Msg{Subject: subject.OfIngest(e), Data: raw, Header: nats.Header{
		eventIDHeader:                   {e.ID.String()},
		eventLogHeader:                  {t.id},
		jetstream.ExpectedLastSeqHeader: {strconv.FormatUint(seq, 10)},
	}}
	if acked {
		ack, err = t.sendAcked(m)
	} else {
		err = t.sendUnacked(m)
	}
	if err != nil {
		return nil, fmt.Errorf("publish event %s: %w", e.ID, err)
	}
	return ack, nil
}

func (t *publisher) sendAcked(m *nats.Msg) (jetstream.PubAckFuture, error) {
	crash.Before(crash.PublishEvent)
	defer crash.After(crash.PublishEvent)
	return t.log.js.PublishMsgAsync(m)
}

// sendUnacked sends what JetStream stores without a word.
func (t *publisher) sendUnacked(m *nats.Msg) error {
	crash.Before(crash.PublishEvent)
	defer crash.After(crash.PublishEvent)
	return t.log.js.Conn().PublishMsg(m)
}

// publishEphemeral tells subscribers what is not stored.
func (t *publisher) publishEphemeral(e task.Event) error {
	raw, err := task.Marshal(e)
	if err == nil {
		err = t.log.js.Conn().Publish(subject.OfEvent(e), raw)
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
