package queue

import (
	"fmt"
	"sync/atomic"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"

	"k8s-cli/pkg/task"
)

const (
	diskShare = 0.8                  // of what a disk has for it, at which an embedded log is full; JetStream does not survive a disk that is
	overhead  = 30 + len(logSubject) // bytes that JetStream's file store adds to an entry (server/filestore.go: header and checksum)
	taskShare = 0.9                  // of a full log, from which on only stops, deletions and facts are taken
)

// A room knows how full the log is, as of the last answer of NATS and with what
// this process has stored since.
type room struct{ bytes, limit atomic.Int64 }

func (r *room) learn(info *jetstream.StreamInfo) {
	r.bytes.Store(int64(info.State.Bytes)) //nolint:gosec // no disk has 2^63 bytes
	r.limit.Store(info.Config.MaxBytes)
}

// Room reports whether the log has room for what can wait. The error is of kind
// task.ErrUnavailable; the rest of the log is kept for what cannot.
func (l *Log) Room() error {
	bytes, limit := l.room.bytes.Load(), l.room.limit.Load()
	if limit <= 0 || float64(bytes) < taskShare*float64(limit) {
		return nil
	}
	return task.Error(task.ErrUnavailable, fmt.Sprintf("the log is nearly full (%d MiB of %d MiB): nothing new is taken, stops and deletions are; an operator has to make room", bytes>>20, limit>>20))
}

// diskLimit returns how large a log in dir may become: a share of what its disk
// has left and the log has already.
func diskLimit(dir string, log int64) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return 0, fmt.Errorf("size of the disk of %s: %w", dir, err)
	}
	free := int64(disk.Bavail) * disk.Bsize //nolint:gosec // as above
	return int64(diskShare * float64(free+log)), nil
}
