// Package outage logs what does not work: once, and then now and again while it lasts.
package outage

import (
	"log/slog"
	"time"
)

const repeatInterval = time.Minute // between two lines about what has not changed

// A Logger says that something does not work when that begins, reminds of it
// while it lasts, and says when it is over. It is used by one goroutine.
type Logger struct {
	log              *slog.Logger
	message          string // what does not work
	recoveredMessage string // that it works again
	since            time.Time
	loggedAt         time.Time
}

// NewLogger returns a Logger with the messages for what does not work, and for when
// it works again.
func NewLogger(log *slog.Logger, message, recoveredMessage string) *Logger {
	return &Logger{log: log, message: message, recoveredMessage: recoveredMessage}
}

// Failed is called for every failure.
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

// Recovered is called for every success.
func (o *Logger) Recovered() {
	if o.since.IsZero() {
		return
	}
	o.log.Info(o.recoveredMessage, "after", time.Since(o.since).Round(time.Millisecond).String())
	o.since = time.Time{}
}
