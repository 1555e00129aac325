package queue

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/queue/internal/subject"
	"k8s-cli/pkg/task"
	"k8s-cli/pkg/task/problem"
)

const (
	// The portions of a disk at which the parts of an embedded store are full. JetStream does
	// not survive a full disk, so the portions leave space.
	logShare      = 0.5
	snapshotShare = 0.25 // two snapshots are retained, and a third one is being stored

	entryOverhead = 30 + len(subject.Log) // bytes that JetStream's file store adds to an entry (server/filestore.go: header and checksum)
	taskShare     = 0.9                   // of a full log; above, only stops, deletions and facts are accepted
	factShare     = 0.95                  // of a full log; above, only markers and barrier entries are accepted, without which no entry can be removed
	fullShare     = 0.98                  // of a full log; above, the log may accept no marker

	// In a small log, an entry with several calls is smaller than the reserves, because each pod
	// may send one entry before it knows of the entries of the other pods.
	entryShare = 0.01

	// Below this reserve of free disk space no submission is accepted, although the log has
	// not reached its limit: another program fills the disk.
	reserveShare = 0.05     // of the size of the disk,
	maxReserve   = 64 << 20 // and at most these bytes

	diskAge = 20 * time.Millisecond

	mustCompactBytes = 8 * burstGrowth // a log without a limit must be compacted above this size
)

// A capacity knows how full the log is: the size in the last answer of NATS plus the entries
// that this process has read since. The sequence number tells which entries the size contains.
type capacity struct {
	bytes, limit atomic.Int64
	disk         atomic.Pointer[diskStat] // the latest measurement

	mu  sync.Mutex // of writing bytes and seq
	seq uint64     // bytes contains all entries up to seq
}

// A diskStat is one measurement of the disk that stores the log.
type diskStat struct {
	at   time.Time
	full error // nil if the disk had enough free space
}

func (c *capacity) update(info *jetstream.StreamInfo) {
	c.limit.Store(info.Config.MaxBytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	if info.State.LastSeq >= c.seq { // not an answer that is older than the entries read since
		c.bytes.Store(int64(info.State.Bytes)) //nolint:gosec // no disk has 2^63 bytes
		c.seq = info.State.LastSeq
	}
}

// add counts an entry of the given size, unless the size of the log contains the entry already.
func (c *capacity) add(seq uint64, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq > c.seq {
		c.bytes.Add(int64(size + entryOverhead))
		c.seq = seq
	}
}

// reset makes the next update count, although another log may have lower sequence numbers.
func (c *capacity) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seq = 0
}

// shareOf returns the portion of a full log up to which the log accepts c. The reserves above
// let a full log get empty again: stops, deletions and facts end the tasks, and markers and
// barrier entries are what compaction needs.
func shareOf(c task.Command) float64 {
	switch {
	case c.Submit != nil, c.Create != nil, c.Upload != nil:
		return taskShare
	case c.SnapshotMarker != nil, c.SnapshotStored != nil:
		return 1
	}
	return factShare
}

// CheckCapacity returns nil if the log accepts submissions. The error is of kind
// problem.LogFull; the remaining space of the log is reserved for stops, deletions and
// facts.
func (s *logStream) CheckCapacity() error {
	if err := s.capacity.check(0, taskShare); err != nil {
		return err
	}
	return s.checkDisk()
}

// check returns nil if the log, with size more bytes, is not fuller than share.
func (c *capacity) check(size int, share float64) error {
	bytes, limit := c.bytes.Load(), c.limit.Load()
	if limit <= 0 || float64(bytes+int64(size)) < share*float64(limit) || share == 1 {
		return nil
	}
	accepts := "only stops and deletions are accepted"
	if share > taskShare {
		accepts = "no command is accepted until entries are removed"
	}
	return problem.New(problem.LogFull, fmt.Sprintf("the command log is nearly full (%d MiB of %d MiB): %s, and nothing was stored; ask the administrator to free space", bytes>>20, limit>>20, accepts))
}

// mayBeHalfFull reports whether the log may be more than half full, if each entry up to end that
// is not counted yet has the maximum size.
func (c *capacity) mayBeHalfFull(end uint64) bool {
	c.mu.Lock()
	uncounted := max(end, c.seq) - c.seq
	c.mu.Unlock()
	limit := c.limit.Load()
	return limit > 0 && float64(c.bytes.Load())+float64(uncounted)*maxEntry > float64(limit)/2
}

// entryLimit returns the size above which no further call is added to an entry.
func (c *capacity) entryLimit() int {
	if limit := c.limit.Load(); limit > 0 {
		return min(maxEntry, int(entryShare*float64(limit)))
	}
	return maxEntry
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
	return problem.New(problem.LogFull, fmt.Sprintf("the disk of the command log is nearly full (%.0f MiB of %.0f MiB are free): only stops and deletions are accepted; ask the administrator to free space", free/(1<<20), size/(1<<20)))
}
