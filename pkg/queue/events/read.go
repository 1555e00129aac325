package events

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	fetchWait    = 2 * time.Second  // for events that are known to be stored
	consumerIdle = 10 * time.Second // NATS deletes a consumer that received no pull request for this long
)

// StoredEvents returns up to limit stored events that match q, oldest first. The error is of
// kind problem.Unavailable.
func (s *Stream) StoredEvents(ctx context.Context, q task.EventQuery, limit int) (task.StoredEvents, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*natsconn.RequestTimeout)
	defer cancel()
	stored, err := s.storedEvents(ctx, q, limit)
	if err != nil {
		return task.StoredEvents{}, problem.New(problem.Unavailable, fmt.Sprintf("past events cannot be read (%v); try again", err))
	}
	return stored, nil
}

func (s *Stream) storedEvents(ctx context.Context, q task.EventQuery, limit int) (stored task.StoredEvents, err error) {
	stream, err := s.js.Stream(ctx, subject.EventStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return task.StoredEvents{Complete: true}, nil // no pod has published an event yet
	}
	if err != nil {
		return stored, err
	}
	now := stream.CachedInfo().State
	if stored.End, err = s.lastEvent(ctx, now); err != nil {
		return stored, err
	}
	start, whole, err := s.eventSeq(ctx, now, q.After)
	if stored.Complete = whole; err != nil || start > now.LastSeq {
		return stored, err
	}
	stored.Events, stored.More, err = s.readEvents(ctx, stream, start, now.LastSeq, q, limit)
	return stored, err
}

// lastEvent returns the id of the last stored event of this log or the zero id.
func (s *Stream) lastEvent(ctx context.Context, now jetstream.StreamState) (task.EventID, error) {
	if now.Msgs == 0 {
		return task.EventID{}, nil
	}
	at, ofThisLog, err := s.storedEventID(ctx, now.LastSeq)
	if err != nil || !ofThisLog {
		return task.EventID{}, err
	}
	return at, nil
}

// eventSeq returns the stream sequence of the first event after an event id; whole is true if
// no event between that id and the returned sequence has expired.
func (s *Stream) eventSeq(ctx context.Context, now jetstream.StreamState, after task.EventID) (seq uint64, whole bool, err error) {
	low, high := max(now.FirstSeq, 1), now.LastSeq+1
	whole = low == 1
	for low < high {
		middle := low + (high-low)/2
		behind, err := s.isBehind(ctx, middle, after)
		if err != nil {
			return 0, false, err
		}
		if behind {
			high = middle
		} else {
			low, whole = middle+1, true
		}
	}
	return low, whole, nil
}

// isBehind reports whether the event at seq is behind the id after. Events of another log, and
// expired events, are before all events of this log.
func (s *Stream) isBehind(ctx context.Context, seq uint64, after task.EventID) (bool, error) {
	at, ofThisLog, err := s.storedEventID(ctx, seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return false, nil
	}
	return ofThisLog && at.Compare(after) > 0, err
}

// storedEventID reads the event id at a sequence of the stream. The error is
// jetstream.ErrMsgNotFound only if the event has expired: a replica or a deposed leader may
// lack messages that are stored.
func (s *Stream) storedEventID(ctx context.Context, seq uint64) (at task.EventID, ofThisLog bool, err error) {
	m, err := streams.Get(ctx, s.js, subject.EventStream, streams.GetRequest{Seq: seq})
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		now, failed := s.js.Stream(ctx, subject.EventStream)
		if failed != nil {
			return at, false, failed
		}
		if seq >= now.CachedInfo().State.FirstSeq {
			return at, false, streams.ErrUnconfirmed
		}
	}
	if err != nil {
		return at, false, err
	}
	header, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		return at, false, fmt.Errorf("read the header of an event: %w", err)
	}
	if header.Get(logHeader) != s.log.ID() {
		return at, false, nil
	}
	at, err = task.ParseEventID(header.Get(idHeader))
	return at, true, err
}

// readEvents reads the stream from start at least to last. NATS may place the consumer on a
// replica that lacks the latest events, so readEvents asks the leader whether more events
// exist.
func (s *Stream) readEvents(ctx context.Context, stream jetstream.Stream, start, last uint64, q task.EventQuery, limit int) (events []task.Event, more bool, err error) {
	consumer, err := stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       start,
		FilterSubject:     filter(q),
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: consumerIdle, // NATS deletes the consumer
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return nil, false, err
	}
	pending := int(consumer.CachedInfo().NumPending) //nolint:gosec // no stream has 2^63 messages
	due := min(pending, limit)
	for due > 0 {
		batch, err := consumer.Fetch(due, jetstream.FetchMaxWait(fetchWait))
		if err != nil {
			return nil, false, err
		}
		came := 0
		for m := range batch.Messages() {
			came++
			if meta, err := m.Metadata(); err == nil {
				start = meta.Sequence.Stream + 1
			}
			if events, err = s.appendEvent(events, m, q); err != nil {
				return nil, false, err
			}
		}
		if batch.Error() != nil || came == 0 {
			return nil, false, errors.Join(errors.New("stored events were not delivered"), batch.Error())
		}
		due -= came
	}
	if pending <= limit && start <= last {
		next, err := streams.Get(ctx, s.js, subject.EventStream, streams.GetRequest{Seq: start, Next: filter(q)})
		if err == nil && next.Seq <= last {
			return nil, false, errors.New("a replica of the event stream lags behind")
		}
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, false, err
		}
	}
	return events, pending > limit, nil
}

// appendEvent adds the event in m if the event belongs to this log and matches q.
func (s *Stream) appendEvent(events []task.Event, m jetstream.Msg, q task.EventQuery) ([]task.Event, error) {
	if m.Headers().Get(logHeader) != s.log.ID() {
		return events, nil
	}
	var e task.Event
	if err := json.Unmarshal(m.Data(), &e); err != nil {
		return nil, fmt.Errorf("read an event: %w", err)
	}
	if e.ID.Compare(q.After) > 0 && q.Wants(e) {
		events = append(events, e)
	}
	return events, nil
}
