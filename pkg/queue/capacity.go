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
	// Shares of what a disk has for an embedded store, at which its parts are
	// full: JetStream does not survive a disk that is.
	logShare      = 0.5
	snapshotShare = 0.25 // two of them, and one in the making

	entryOverhead = 30 + len(subject.Log) // bytes that JetStream's file store adds to an entry (server/filestore.go: header and checksum)
	taskShare     = 0.9                   // of a full log, from which on only stops, deletions and facts are taken

	// What a disk has left when nothing new is taken any more, though the log has
	// not reached its limit: somebody else fills the disk.
	reserveShare = 0.05     // of its size,
	maxReserve   = 64 << 20 // and bytes at most

	diskAge = 20 * time.Millisecond

	mustCompactBytes = 8 * burstGrowth // of a log without a limit that has to be cut
)

// A capacity knows how full the log is, as of the last answer of NATS and with what
// this process has stored since.
type capacity struct {
	bytes, limit atomic.Int64
	disk         atomic.Pointer[diskStat] // the last one
}

// A diskStat is what somebody saw of the log's disk.
type diskStat struct {
	at   time.Time
	full error // nil if there was room
}

func (r *capacity) update(info *jetstream.StreamInfo) {
	r.bytes.Store(int64(info.State.Bytes)) //nolint:gosec // no disk has 2^63 bytes
	r.limit.Store(info.Config.MaxBytes)
}

// CheckCapacity reports whether the log has room for what can wait. The error is of kind
// task.ErrUnavailable; the rest of the log is kept for what cannot.
func (s *logStream) CheckCapacity() error {
	bytes, limit := s.capacity.bytes.Load(), s.capacity.limit.Load()
	if !nearlyFull(bytes, limit) {
		return s.checkDisk()
	}
	return task.Error(task.ErrUnavailable, fmt.Sprintf("the log is nearly full (%d MiB of %d MiB): only stops and deletions are accepted; ask the administrator to free space", bytes>>20, limit>>20))
}

// mustCompact reports whether the log has so much that it has to be cut, whatever
// becomes of what goes.
func (r *capacity) mustCompact() bool {
	most := int64(mustCompactBytes)
	if limit := r.limit.Load(); limit > 0 {
		most = min(most, limit/2)
	}
	return r.bytes.Load() > most
}

func nearlyFull(bytes, limit int64) bool {
	return limit > 0 && float64(bytes) >= taskShare*float64(limit)
}

// checkDisk reports whether the log's disk, if it is ours, has room. It looks again
// when what it saw is old: the reserve is more than anybody fills meanwhile.
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
		return nil // whether the disk takes anything turns out when the log is written to
	}
	size, free := float64(disk.Blocks)*float64(disk.Bsize), float64(disk.Bavail)*float64(disk.Bsize)
	if free >= min(reserveShare*size, maxReserve) {
		return nil
	}
	return task.Error(task.ErrUnavailable, fmt.Sprintf("the log's disk is nearly full (%.0f MiB of %.0f MiB are free): only stops and deletions are accepted; ask the administrator to free space", free/(1<<20), size/(1<<20)))
}
