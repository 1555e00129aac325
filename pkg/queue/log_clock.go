package queue

import (
	"sync"
	"time"
)

// A logClock estimates the clock of NATS, which gives entries their timestamps. The estimate
// is a timestamp that this pod has received plus the time since then, so that a wrong clock of
// this machine has no effect. The estimate lags by the time that the timestamp took to arrive.
// The zero logClock knows no time.
type logClock struct {
	mu    sync.Mutex
	stamp time.Time // by the clock of NATS
	at    time.Time // local time at which the stamp was received
}

// now returns the estimate; known is false before the first stamp.
func (c *logClock) now() (estimate time.Time, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.estimate(), !c.stamp.IsZero()
}

func (c *logClock) estimate() time.Time { return c.stamp.Add(time.Since(c.at)) }

// observe takes a timestamp that NATS made earlier. A timestamp older than the estimate has no
// effect; a younger one reduces the lag.
func (c *logClock) observe(stamp time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stamp.IsZero() || stamp.After(c.estimate()) {
		c.stamp, c.at = stamp, time.Now()
	}
}

// reset takes a timestamp of another clock, for example after another NATS server became
// leader.
func (c *logClock) reset(stamp time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stamp, c.at = stamp, time.Now()
}
