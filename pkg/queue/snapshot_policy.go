package queue

import (
	"sync/atomic"
	"time"
)

const (
	burstGrowth  = 64 << 20        // bytes of the log that are worth a snapshot at once; a pod reads them in a second or two
	minShare     = 8               // an eighth of a limited log is worth one, if that is less
	steadyGrowth = 1 << 20         // bytes of the log that are worth one
	steadyAge    = 5 * time.Minute // after the last one
)

// snapshotPolicy knows how much the log has grown since the last snapshot.
type snapshotPolicy struct {
	bytes    atomic.Int64              // folded since then
	lastSize atomic.Int64              // size of that snapshot
	since    atomic.Pointer[time.Time] // when it was stored, or read
}

// reset notes that a snapshot holds what has been folded so far.
func (g *snapshotPolicy) reset(at time.Time) {
	g.bytes.Store(0)
	g.since.Store(&at)
}

// timeDue reports whether the log has grown by a little since the last snapshot, and
// that is long ago: so a log that grows slowly stays short too.
func (g *snapshotPolicy) timeDue() bool {
	since := g.since.Load()
	return since != nil && time.Since(*since) >= steadyAge && g.bytes.Load() >= steadyGrowth
}

// SnapshotDue reports whether the log has grown so much since the last snapshot
// that another one is worth its bytes, or the last one is old. When half of the
// log is full, its room counts for more than the bytes do.
func (k *snapshotStore) SnapshotDue() bool {
	if k.uncovered.Load() {
		return true
	}
	least, worth := int64(burstGrowth), k.snapshotPolicy.lastSize.Load()
	if limit := k.capacity.limit.Load(); limit > 0 {
		least = min(least, limit/minShare)
		switch bytes := k.capacity.bytes.Load(); {
		case nearlyFull(bytes, limit):
			return true
		case bytes > limit/2:
			worth = 0
		}
	}
	return k.snapshotPolicy.bytes.Load() >= max(least, worth) || k.snapshotPolicy.timeDue()
}
