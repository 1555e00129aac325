package streams

import (
	"log/slog"
	"time"
)

const repeatInterval = time.Minute // between two log lines about the same failure

// An OutageLogger logs when an operation begins to fail, repeats the message while the failure lasts,
// and logs when the operation works again. Only one goroutine may use an OutageLogger.
type OutageLogger struct {
	log              *slog.Logger
	message          string // logged while the operation fails
	recoveredMessage string // logged when the operation works again
	since            time.Time
	loggedAt         time.Time
}

// NewOutageLogger returns an OutageLogger with the messages for a failure and for the recovery.
func NewOutageLogger(log *slog.Logger, message, recoveredMessage string) *OutageLogger {
	return &OutageLogger{log: log, message: message, recoveredMessage: recoveredMessage}
}

// Failed records a failure; call it for every failure.
func (l *OutageLogger) Failed(err error) {
	now := time.Now()
	if l.since.IsZero() {
		l.since = now
	} else if now.Sub(l.loggedAt) < repeatInterval {
		return
	}
	l.loggedAt = now
	l.log.Warn(l.message, "err", err, "for", now.Sub(l.since).Round(time.Second).String())
}

// Recovered records a success; call it for every success.
func (l *OutageLogger) Recovered() {
	if l.since.IsZero() {
		return
	}
	l.log.Info(l.recoveredMessage, "after", time.Since(l.since).Round(time.Millisecond).String())
	l.since = time.Time{}
}
