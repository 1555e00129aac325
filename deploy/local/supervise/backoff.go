package supervise

import "time"

const (
	firstDelay = 250 * time.Millisecond
	longest    = 15 * time.Second
	healthy    = 30 * time.Second // a program that ran this long is restarted after firstDelay
)

// A backoff computes the delay before a program is restarted. The zero backoff is ready to
// use.
type backoff struct {
	last time.Duration
}

// after returns the delay after a program exited that ran for the given time.
func (b *backoff) after(ran time.Duration) time.Duration {
	switch {
	case b.last == 0, ran >= healthy:
		b.last = firstDelay
	default:
		b.last = min(2*b.last, longest)
	}
	return b.last
}
