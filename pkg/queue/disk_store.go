package queue

// A DiskStore is what stores the log, if that is this process.
type DiskStore interface {
	// Broken says why the store takes nothing, if so. The error is of kind
	// task.ErrUnavailable.
	Broken() error

	// Healthy reports whether what was read from the log is also stored. A store
	// may show an entry that it could not sync.
	Healthy() bool

	// Fsync returns once all that the store holds is on disk. Part of the log may
	// go only then: a snapshot of it is worth nothing that a power cut takes away.
	Fsync() error
}

// elsewhere is the store of a NATS that others look after.
type elsewhere struct{}

func (elsewhere) Broken() error { return nil }
func (elsewhere) Healthy() bool { return true }
func (elsewhere) Fsync() error  { return nil }

// Broken says why the log's store takes nothing, if so and if it is ours. The
// error is of kind task.ErrUnavailable.
func (l *Log) Broken() error { return l.store.Broken() }
