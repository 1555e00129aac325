package streams

import (
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"
)

// Settings are the settings of a stream that is created.
type Settings struct {
	Replicas int    // replicas in a NATS cluster; 0 means 1
	Dir      string // directory of an embedded store; streams leave free space on its disk; empty for an external NATS
	Logger   *slog.Logger
}

// WarnDifferent logs the settings in which an existing stream differs from the flags of this
// pod.
func (s Settings) WarnDifferent(has, want jetstream.StreamConfig) {
	const text = "the setting of a stream differs from the flags of this pod; to change the stream, run nats stream edit"
	if has.Replicas != want.Replicas {
		s.Logger.Warn(text, "stream", has.Name, "replicas", has.Replicas, "requested", want.Replicas)
	}
	if want.MaxBytes > 0 && has.MaxBytes != want.MaxBytes {
		s.Logger.Warn(text, "stream", has.Name, "max_bytes", has.MaxBytes, "requested", want.MaxBytes)
	}
	if has.MaxAge != want.MaxAge {
		s.Logger.Warn(text, "stream", has.Name, "max_age", has.MaxAge.String(), "requested", want.MaxAge.String())
	}
}
