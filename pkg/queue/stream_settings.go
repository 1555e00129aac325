package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
	"k8s-cli/pkg/queue/streams"
)

// Operators own the settings of streams and change them with the tools of NATS. A pod creates
// a missing stream. If an existing stream differs from the flags of the pod, the pod keeps the
// settings of the stream, and refuses settings that would lose commands. Only an embedded
// store belongs to the pod: its limits follow from the size of its disk.

// openLogStream finds or creates the stream of the log. limit bounds the stream in an embedded
// store, in bytes; -1 means no limit.
func openLogStream(ctx context.Context, js jetstream.JetStream, c streams.Settings, limit int64) (jetstream.Stream, error) {
	want := jetstream.StreamConfig{
		Name:       subject.LogStream,
		Subjects:   []string{subject.Log},
		Storage:    jetstream.FileStorage,
		Discard:    jetstream.DiscardNew,
		MaxMsgSize: natsconn.MaxPayload,
		MaxBytes:   limit,
		Replicas:   max(c.Replicas, 1),
	}
	stream, err := js.Stream(ctx, subject.LogStream)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return streams.Create(ctx, js, want)
	}
	if err != nil { // the stream may exist, with settings that the pod may not change
		return nil, err
	}
	has := stream.CachedInfo().Config
	if !slices.Equal(has.Subjects, want.Subjects) {
		return nil, fmt.Errorf("%w: its subjects are %q", errForeign, has.Subjects)
	}
	if err := verifyLossless(has); err != nil {
		return nil, err
	}
	if limit >= 0 && has.MaxBytes != limit {
		has.MaxBytes = limit
		return js.UpdateStream(ctx, has)
	}
	c.WarnDifferent(has, want)
	return stream, nil
}

// verifyLossless reports a setting of the log's stream by which NATS would drop or refuse
// entries that must be stored.
func verifyLossless(s jetstream.StreamConfig) error {
	for _, bad := range []struct {
		is    bool
		what  string
		edits string
	}{
		{s.Discard != jetstream.DiscardNew, "discards the oldest messages when it is full", "--discard new"},
		{s.MaxAge > 0, fmt.Sprintf("drops messages that are older than %s", s.MaxAge), "--max-age 0"},
		{s.MaxMsgs > 0, fmt.Sprintf("holds at most %d messages", s.MaxMsgs), "--max-msgs -1"},
		{s.MaxMsgsPerSubject > 0, fmt.Sprintf("holds at most %d messages of a subject", s.MaxMsgsPerSubject), "--max-msgs-per-subject -1"},
		{s.MaxMsgSize > 0 && s.MaxMsgSize < natsconn.MaxPayload, fmt.Sprintf("accepts messages of at most %d bytes", s.MaxMsgSize), fmt.Sprintf("--max-msg-size %d", natsconn.MaxPayload)},
	} {
		if bad.is {
			return fmt.Errorf("stream %s %s, which would lose commands: run nats stream edit %s %s", s.Name, bad.what, s.Name, bad.edits)
		}
	}
	switch {
	case s.Retention != jetstream.LimitsPolicy:
		return fmt.Errorf("stream %s has the retention policy %q, which would lose commands: the retention policy must be \"limits\"; move the stream away and let the server create its own", s.Name, s.Retention)
	case s.Mirror != nil || len(s.Sources) > 0 || s.Sealed || s.SubjectTransform != nil:
		return fmt.Errorf("stream %s is sealed, mirrors, sources or transforms messages: move the stream away and let the server create its own", s.Name)
	}
	return nil
}
