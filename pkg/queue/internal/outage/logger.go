// Package outage logs a lasting failure once when it begins, then at intervals, and when it
// ends.
package outage

import (
	"log/slog"
	"time"
)

const repeatInterval = time.Minute // between two log lines about the same failure

// A Logger logs when an operation begins to fail, repeats the message while the failure lasts,
// and logs when the operation works again. Only one goroutine may use a Logger.
type Logger struct {
	log              *slog.Logger
	message          string // logged while the operation fails
	recoveredMessage string // logged when the operation works again
	since            time.Time
	loggedAt         time.Time
}

// NewLogger returns a Logger with the messages for a failure and for the recovery.
func NewLogger(log *slog.Logger, message, recoveredMessage string) *Logger {
	return &Logger{log: log, message: message, recoveredMessage: recoveredMessage}
}

// Failed records a failure; call it for every failure.
func (o *Logger) Failed(err error) {
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	} else if now.Sub(o.loggedAt) < repeatInterval {
		return
	}
	o.loggedAt = now
	o.log.Warn(o.message, "err", err, "for", now.Sub(o.since).Round(time.Second).String())
}

// Recovered records a success; call it for every success.
func (o *Logger) Recovered() {
	if o.since.IsZero() {
		return
	}
	o.log.Info(o.recoveredMessage, "after", time.Since(o.since).Round(time.Millisecond).String())
	o.since = time.Time{}
}
