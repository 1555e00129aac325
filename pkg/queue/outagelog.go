package queue

import (
	"log/slog"
	"time"
)

const repeatInterval = time.Minute // between two lines about what has not changed

// An outageLogger says that something does not work when that begins, reminds of it
// while it lasts, and says when it is over. It is used by one goroutine.
type outageLogger struct {
	log              *slog.Logger
	message          string // what does not work
	recoveredMessage string // that it works again
	since            time.Time
	loggedAt         time.Time
}

// failed is called for every failure.
func (o *outageLogger) failed(err error) {
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	} else if now.Sub(o.loggedAt) < repeatInterval {
		return
	}
	o.loggedAt = now
	o.log.Warn(o.message, "err", err, "for", now.Sub(o.since).Round(time.Second).String())
}

// recovered is called for every success.
func (o *outageLogger) recovered() {
	if o.since.IsZero() {
		return
	}
	o.log.Info(o.recoveredMessage, "after", time.Since(o.since).Round(time.Millisecond).String())
	o.since = time.Time{}
}
