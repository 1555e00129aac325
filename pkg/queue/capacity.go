package queue

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
)

const (
	// The portions of a disk at which the parts of an embedded store are full. JetStream does
	// not survive a full disk, so the portions leave space.
	logShare      = 0.5
	snapshotShare = 0.25 // two snapshots are retained, and a third one is being stored

	entryOverhead = 30 + len(subject.Log) // bytes that JetStream's file store adds to an entry (server/filestore.go: header and checksum)
	taskShare     = 0.9                   // of a full log; above, only stops, deletions and facts are accepted
	fullShare     = 0.98                  // of a full log; above, the log may accept no marker

	// Below this reserve of free disk space no submission is accepted, although the log has
	// not reached its limit: another program fills the disk.
	reserveShare = 0.05     // of the size of the disk,
	maxReserve   = 64 << 20 // and at most these bytes

	diskAge = 20 * time.Millisecond

	mustCompactBytes = 8 * burstGrowth // a log without a limit must be compacted above this size
)

// A capacity knows how full the log is: the size in the last answer of NATS plus the bytes
// that this process has stored since.
type capacity struct {
	bytes, limit atomic.Int64
	disk         atomic.Pointer[diskStat] // the latest measurement
}

// A diskStat is one measurement of the disk that stores the log.
type diskStat struct {
	at   time.Time
	full error // nil if the disk had enough free space
}

func (c *capacity) update(info *jetstream.StreamInfo) {
	c.bytes.Store(int64(info.State.Bytes)) //nolint:gosec // no disk has 2^63 bytes
	c.limit.Store(info.Config.MaxBytes)
}

// CheckCapacity returns nil if the log accepts submissions. The error is of kind
// task.ErrUnavailable; the remaining space of the log is reserved for stops, deletions and
// facts.
func (s *logStream) CheckCapacity() error {
	bytes, limit := s.capacity.bytes.Load(), s.capacity.limit.Load()
	if !nearlyFull(bytes, limit) {
		return s.checkDisk()
	}
	return task.Error(task.ErrUnavailable, fmt.Sprintf("the command log is nearly full (%d MiB of %d MiB): only stops and deletions are accepted; ask the administrator to free space", bytes>>20, limit>>20))
}

// mustCompact reports whether the log is so large that compaction cannot wait for the archive.
func (c *capacity) mustCompact() bool {
	most := int64(mustCompactBytes)
	if limit := c.limit.Load(); limit > 0 {
		most = min(most, limit/2)
	}
	return c.bytes.Load() > most
}

// isFull reports whether the log may lack the space for a snapshot marker.
func (c *capacity) isFull() bool {
	limit := c.limit.Load()
	return limit > 0 && float64(c.bytes.Load()) >= fullShare*float64(limit)
}

func nearlyFull(bytes, limit int64) bool {
	return limit > 0 && float64(bytes) >= taskShare*float64(limit)
}

// checkDisk returns nil if the embedded log's disk has enough free space, or if the log is not
// embedded. A measurement is reused for diskAge: the reserve is larger than what a disk can
// write in that time.
func (s *logStream) checkDisk() error {
	if s.dir == "" {
		return nil
	}
	seen := s.capacity.disk.Load()
	if seen == nil || time.Since(seen.at) > diskAge {
		seen = &diskStat{time.Now(), statDisk(s.dir)}
		s.capacity.disk.Store(seen)
	}
	return seen.full
}

func statDisk(dir string) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return nil // a write to the log will show whether the disk accepts data
	}
	size, free := float64(disk.Blocks)*float64(disk.Bsize), float64(disk.Bavail)*float64(disk.Bsize)
	if free >= min(reserveShare*size, maxReserve) {
		return nil
	}
	return task.Error(task.ErrUnavailable, fmt.Sprintf("the disk of the command log is nearly full (%.0f MiB of %.0f MiB are free): only stops and deletions are accepted; ask the administrator to free space", free/(1<<20), size/(1<<20)))
}
