package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
)

// decode decodes a message of the log; log is the id of the log. A message that is not an
// entry is reported and becomes an entry without commands, so that a foreign message on the
// subject of the log ends no pod. The state machine rejects an entry whose version or commands
// this release does not know.
func (s *logStream) decode(data []byte, seq uint64, stamp time.Time, log string) (task.Entry, error) {
	e, err := task.DecodeEntry(data)
	if e.Version == 0 && !isEntry(data) { // with or without err: a foreign message decodes to version 0
		s.counters.foreign.Add(1)
		s.logger.Error("ignored a message in the command log that is not an entry; to remove the message, run nats stream rmm", "stream", subject.LogStream, "seq", seq, "bytes", len(data))
		e, err = task.Entry{Version: task.EntryVersion, Log: log}, nil
	}
	if err != nil {
		return task.Entry{}, err
	}
	e.Seq, e.Time = seq, stamp
	return e, nil
}

// isEntry reports whether a message is a JSON object that has the version of an entry.
func isEntry(data []byte) bool {
	var e struct {
		Version *int `json:"v"`
	}
	return json.Unmarshal(data, &e) == nil && e.Version != nil
}

// errHole means that NATS skipped entries that were not deleted.
var errHole = errors.New("the entries between them were not deleted")

// verifyDeleted returns nil if an operator deleted every message of the log from first to
// last.
func (s *logStream) verifyDeleted(ctx context.Context, first, last uint64) error {
	if first > last {
		return errHole // the entries were delivered in the wrong order
	}
	info, err := s.stream.Info(ctx, jetstream.WithDeletedDetails(true))
	if err != nil {
		return fmt.Errorf("look for deleted entries: %w", err)
	}
	for seq := first; seq <= last; seq++ {
		if _, deleted := slices.BinarySearch(info.State.Deleted, seq); !deleted {
			return errHole
		}
	}
	s.logger.Warn("entries of the command log were deleted from outside; continuing without them", "first", first, "last", last)
	return nil
}

// entryOf decodes the entry in m; before is the sequence of the preceding entry.
func (s *logStream) entryOf(ctx context.Context, m jetstream.Msg, before uint64, log string) (task.Entry, error) {
	meta, err := m.Metadata()
	if err != nil {
		return task.Entry{}, err
	}
	return s.entryAt(ctx, m.Data(), meta.Sequence.Stream, meta.Timestamp, before, log)
}

// entryAt decodes the entry at seq; before is the sequence of the preceding entry.
func (s *logStream) entryAt(ctx context.Context, data []byte, seq uint64, stamp time.Time, before uint64, log string) (task.Entry, error) {
	if seq != before+1 {
		if err := s.verifyDeleted(ctx, before+1, seq-1); err != nil {
			return task.Entry{}, fmt.Errorf("entry %d was delivered after entry %d: %w", seq, before, err)
		}
	}
	return s.decode(data, seq, stamp, log)
}
