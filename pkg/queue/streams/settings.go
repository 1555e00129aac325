package streams

import (
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"
)

// Settings are those of a stream that is created.
type Settings struct {
	Replicas int    // copies in a NATS cluster; 0 means 1
	Dir      string // where streams are stored, if that is a disk of ours, which they may not fill; empty for elsewhere
	Logger   *slog.Logger
}

// WarnDifferent says which settings of a stream that exists a pod's flags ask otherwise.
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
