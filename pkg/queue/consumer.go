package queue

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/streams"
)

// awaitConsumer creates a consumer. The creation takes long if NATS chose a server that is cut
// off, or while NATS elects the leader that places consumers. Until the consumer exists, the
// follower reads entries singly from the leader of the stream.
func (f *follower) awaitConsumer(ctx context.Context, machine StateMachine) (messages jetstream.MessagesContext, err error) {
	created := make(chan struct{})
	from := f.applied() + 1
	go func() {
		defer close(created)
		messages, err = f.consume(ctx, from)
	}()
	for pause := readWait; ; pause = fetchPause {
		select {
		case <-created:
			return messages, err
		case <-time.After(pause):
		}
		if wrong := f.fetch(ctx, machine); wrong != nil {
			<-created // the creation ends at its own time limit or with ctx
			if messages != nil {
				messages.Stop()
			}
			return nil, wrong
		}
	}
}

// fetch folds the entries after the last folded one, read from the leader of the stream. A
// missing answer is not an error.
func (f *follower) fetch(ctx context.Context, machine StateMachine) error {
	for {
		before := f.applied()
		asking, cancel := context.WithTimeout(ctx, readWait)
		answer, err := streams.Get(asking, f.js, subject.LogStream, streams.GetRequest{Seq: before + 1})
		cancel()
		if err != nil {
			return nil //nolint:nilerr // the consumer may bring it
		}
		if err := f.fold(ctx, answer.Data, before+1, answer.Time, machine); err != nil {
			return err
		}
	}
}

// consume delivers the entries of the log beginning with from. An ordered consumer of nats.go
// would restart silently after a gap. This consumer fails instead, so that the follower checks
// the identity of the log before it continues.
func (s *logStream) consume(ctx context.Context, from uint64) (jetstream.MessagesContext, error) {
	consumer, err := s.stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		DeliverPolicy:     jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:       from,
		AckPolicy:         jetstream.AckNonePolicy,
		InactiveThreshold: idle,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return nil, err
	}
	return consumer.Messages(jetstream.PullHeartbeat(heartbeat), jetstream.PullExpiry(2*heartbeat+time.Second))
}
