package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
	"k8s-cli/pkg/task"
)

// A logStream is the stream of the log. The logStream knows the end of the log and whether the
// end is confirmed, and reads entries.
type logStream struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	logger *slog.Logger
	dir    string // Config.Dir

	clock    logClock
	capacity capacity
	counters counters

	end atomic.Uint64 // end of the log, as far as its single writer knows

	mu      sync.Mutex
	leader  streams.LeaderState // as of the last answer of NATS
	barrier time.Time           // when the last barrier entry was sent
}

// errForeign means that the stream with the name of the log contains something else.
var errForeign = errors.New("stream " + subject.LogStream + " is not a log of k8s-cli")

// An identity distinguishes a log from other logs in a stream of the same name.
type identity struct {
	id      string    // random, stored in every entry
	created time.Time // creation time of the stream
}

// A logHead is what a follower must know of the log before it reads further entries.
type logHead struct {
	identity
	jetstream.StreamState      // confirmed
	complete              bool // no entry is missing before the first one
}

// identify returns the identity of the log in the stream; before is what this pod has applied.
// If the stream is empty, identify names the log. All pods that find an empty stream append a
// name, and the first entry wins.
func (s *logStream) identify(ctx context.Context, before appliedPosition) (logHead, error) {
	info, err := s.confirmedInfo(ctx, before)
	if err != nil {
		return logHead{}, err
	}
	if info.State.Msgs == 0 {
		if _, err := s.appendBarrier(ctx, ""); err != nil {
			return logHead{}, err
		}
		if info, err = s.confirmedInfo(ctx, before); err != nil {
			return logHead{}, err
		}
	}
	first, err := s.stream.GetMsg(ctx, info.State.FirstSeq)
	if err != nil {
		return logHead{}, fmt.Errorf("read the log's first entry: %w", err)
	}
	e, err := task.DecodeEntry(first.Data)
	if err != nil || e.Log == "" {
		return logHead{}, fmt.Errorf("%w: its first message names no log", errForeign)
	}
	return logHead{identity{e.Log, info.Created}, info.State, e.StartsLog || info.State.FirstSeq == 1}, nil
}

func (s *logStream) info(ctx context.Context) (*jetstream.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, natsconn.RequestTimeout)
	defer cancel()
	info, _, err := s.streamInfo(ctx)
	if err == nil {
		s.capacity.update(info)
	}
	return info, err
}

// advance raises the known end of the log to seq, the position of an entry that exists.
func (s *logStream) advance(seq uint64) {
	for end := s.end.Load(); seq > end && !s.end.CompareAndSwap(end, seq); end = s.end.Load() {
	}
}
