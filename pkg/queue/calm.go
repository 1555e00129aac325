package queue

import (
	"log/slog"
	"sync"
	"time"
)

const reminder = time.Minute // between two lines about what has not changed

// An outage says that something does not work when that begins, reminds of it
// while it lasts, and says when it is over. It is used by one goroutine.
type outage struct {
	log   *slog.Logger
	what  string // that does not work, as a sentence
	since time.Time
	told  time.Time
}

// goesOn is told of every failure.
func (o *outage) goesOn(err error) {
	now := time.Now()
	if o.since.IsZero() {
		o.since = now
	} else if now.Sub(o.told) < reminder {
		return
	}
	o.told = now
	o.log.Warn(o.what, "err", err, "for", now.Sub(o.since).Round(time.Second).String())
}

// over is told of every success.
func (o *outage) over() {
	if o.since.IsZero() {
		return
	}
	o.log.Info("no longer: "+o.what, "after", time.Since(o.since).Round(time.Millisecond).String())
	o.since = time.Time{}
}

// An echo knows what was said last. The zero echo is ready to use.
type echo struct {
	mu   sync.Mutex
	text string
	at   time.Time
}

// repeats reports whether text was said just before.
func (e *echo) repeats(text string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if text == e.text && time.Since(e.at) < reminder {
		return true
	}
	e.text, e.at = text, time.Now()
	return false
}
