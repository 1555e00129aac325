package queue

import (
	"sync/atomic"
	"time"
)

const (
	burstGrowth  = 64 << 20        // bytes of new entries that make a snapshot due at any time; a pod reads them in a second or two
	minShare     = 8               // an eighth of a limited log makes a snapshot due, if that is less than burstGrowth
	steadyGrowth = 1 << 20         // bytes of new entries that make a snapshot due
	steadyAge    = 5 * time.Minute // once the last snapshot is this old
)

// A snapshotPolicy records how much the log has grown since the last snapshot.
type snapshotPolicy struct {
	bytes    atomic.Int64              // folded since the last snapshot
	lastSize atomic.Int64              // size of the last snapshot
	since    atomic.Pointer[time.Time] // when the last snapshot was stored or restored
}

// reset records that a snapshot contains everything that has been folded so far.
func (p *snapshotPolicy) reset(at time.Time) {
	p.bytes.Store(0)
	p.since.Store(&at)
}

// timeDue reports whether the last snapshot is older than steadyAge and the log has grown by
// steadyGrowth since. A log that grows slowly is thus compacted too.
func (p *snapshotPolicy) timeDue() bool {
	since := p.since.Load()
	return since != nil && time.Since(*since) >= steadyAge && p.bytes.Load() >= steadyGrowth
}

// SnapshotDue reports whether another snapshot is due: the log has grown by as much as a
// snapshot is large, or the last snapshot is old. Once the log is more than half full, free
// space counts for more than the cost of a snapshot, and the size of a snapshot is ignored.
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
