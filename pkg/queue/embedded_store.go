package queue

// A DiskStore is the store of the log inside this process.
type DiskStore interface {
	// Broken returns an error while the store accepts no writes, nil otherwise. The error is
	// of kind task.ErrUnavailable.
	Broken() error

	// Healthy reports whether every entry that can be read is also on disk. After a failed
	// sync, a store may deliver an entry that is not on disk.
	Healthy() bool

	// Fsync returns once all data of the store is on disk. The log may be compacted only then:
	// a power failure could otherwise lose the snapshot that replaces the removed entries.
	Fsync() error
}

// elsewhere stands for the store of an external NATS.
type elsewhere struct{}

func (elsewhere) Broken() error { return nil }
func (elsewhere) Healthy() bool { return true }
func (elsewhere) Fsync() error  { return nil }

// Broken returns an error while the embedded store accepts no writes, nil otherwise. The error
// is of kind task.ErrUnavailable.
func (l *Log) Broken() error { return l.store.Broken() }
