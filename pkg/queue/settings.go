package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/queue/natsconn"
)

// The settings of streams belong to operators, who change them with NATS' own
// tools. A pod creates a stream that is missing. Of a stream that exists, a pod
// keeps what differs from its flags, and refuses what would lose commands. Only the
// store inside the process, whose limits follow from its disk, is a pod's own.

// openLogStream finds or creates the stream of the log. limit is for an embedded
// store; -1 means none.
func openLogStream(ctx context.Context, js jetstream.JetStream, c Config, limit int64) (jetstream.Stream, error) {
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
		return js.CreateStream(ctx, want)
	}
	if err != nil { // it may be there, with settings that are not ours to change
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
	warnSettingsDiffer(c, has, want)
	return stream, nil
}

// verifyLossless reports a setting of the log's stream by which NATS would drop or
// refuse entries that it must keep.
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

// warnSettingsDiffer says which settings of a stream that exists a pod's flags ask otherwise.
func warnSettingsDiffer(c Config, has, want jetstream.StreamConfig) {
	const text = "the setting of a stream differs from the flags of this pod; to change the stream, run nats stream edit"
	if has.Replicas != want.Replicas {
		c.Logger.Warn(text, "stream", has.Name, "replicas", has.Replicas, "requested", want.Replicas)
	}
	if want.MaxBytes > 0 && has.MaxBytes != want.MaxBytes {
		c.Logger.Warn(text, "stream", has.Name, "max_bytes", has.MaxBytes, "requested", want.MaxBytes)
	}
	if has.MaxAge != want.MaxAge {
		c.Logger.Warn(text, "stream", has.Name, "max_age", has.MaxAge.String(), "requested", want.MaxAge.String())
	}
}

// openObjects finds or creates an object store. What exists keeps its settings,
// but for the limit of an embedded store.
func openObjects(ctx context.Context, js jetstream.JetStream, c Config, want jetstream.ObjectStoreConfig) (*objects, error) {
	want.Storage, want.Replicas = jetstream.FileStorage, max(c.Replicas, 1)
	o := &objects{js: js, name: want.Bucket}
	stream, err := js.Stream(ctx, o.stream())
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound):
		o.ObjectStore, err = js.CreateObjectStore(ctx, want)
		return o, err
	case err != nil:
		return nil, err
	}
	has := stream.CachedInfo().Config
	if c.Dir != "" && has.MaxBytes != want.MaxBytes {
		has.MaxBytes = want.MaxBytes
		if _, err := js.UpdateStream(ctx, has); err != nil {
			return nil, err
		}
	}
	warnSettingsDiffer(c, has, jetstream.StreamConfig{Replicas: want.Replicas, MaxBytes: want.MaxBytes})
	o.ObjectStore, err = js.ObjectStore(ctx, want.Bucket)
	return o, err
}
