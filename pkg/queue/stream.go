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

// A logStream is the log's stream: it tells where the log ends, whether that is
// confirmed, and reads entries.
type logStream struct {
	js     jetstream.JetStream
	stream jetstream.Stream
	logger *slog.Logger
	dir    string // as Config.Dir

	clock    logClock
	capacity capacity
	counters counters

	end atomic.Uint64 // of the log, as far as its single writer knows

	mu      sync.Mutex
	leader  streams.View // by the last answer of NATS
	barrier time.Time    // when the last barrier entry was sent
}

// errForeign means that the stream with the log's name holds something else.
var errForeign = errors.New("stream " + subject.LogStream + " is not a log of k8s-cli")

// An identity tells one log from another that has its name.
type identity struct {
	id      string    // random, in every entry
	created time.Time // of the stream
}

// A logHead is what a follower has to know of the log before it reads on.
type logHead struct {
	identity
	jetstream.StreamState      // confirmed
	complete              bool // no entry is missing in front of the first one
}

// identify reads whose log the stream holds, of which before was applied, and names the log if the stream is
// empty. All pods that find it empty try; the first one's entry stays.
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

// advance is called for every entry that this process stored, or knows of.
func (s *logStream) advance(seq uint64) {
	for end := s.end.Load(); seq > end && !s.end.CompareAndSwap(end, seq); end = s.end.Load() {
	}
}
