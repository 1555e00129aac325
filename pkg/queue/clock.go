package queue

import (
	"sync"
	"time"
)

// A logClock estimates what the clock of NATS shows, which stamps entries when they
// are stored. The estimate comes from stamps that this pod has seen and from the
// time that passed here since, so that a wrong clock of this machine does no harm.
// It lags by as long as the stamp took to get here. The zero logClock knows nothing.
type logClock struct {
	mu    sync.Mutex
	stamp time.Time // by the clock of NATS
	at    time.Time // when the stamp was seen here
}

// now returns the estimate; known is false before the first stamp.
func (c *logClock) now() (estimate time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.estimate(), !c.stamp.IsZero()
}

func (c *logClock) estimate() time.Time { return c.stamp.Add(time.Since(c.at)) }

// observe takes note of a stamp that was made before now: the estimate lags less
// after it, or as much as before.
func (c *logClock) observe(stamp time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stamp.IsZero() || stamp.After(c.estimate()) {
		c.stamp, c.at = stamp, time.Now()
	}
}

// reset takes a stamp of another clock: another NATS server stamps entries now.
func (c *logClock) reset(stamp time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp, c.at = stamp, time.Now()
}
