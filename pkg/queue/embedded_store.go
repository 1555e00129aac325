package queue

// An EmbeddedStore is the store of the log inside this process.
type EmbeddedStore interface {
	// StoreErr returns an error while the store accepts no writes, nil otherwise. The error is
	// of kind problem.Unavailable.
	StoreErr() error

	// Healthy reports whether every entry that can be read is also on disk. After a failed
	// sync, a store may deliver an entry that is not on disk.
	Healthy() bool

	// Fsync returns once all data of the store is on disk. The log may be compacted only then:
	// a power failure could otherwise lose the snapshot that replaces the removed entries.
	Fsync() error
}

// An externalStore represents the store of an external NATS, which monitors itself.
type externalStore struct{}

func (externalStore) StoreErr() error { return nil }
func (externalStore) Healthy() bool   { return true }
func (externalStore) Fsync() error    { return nil }

// StoreErr returns an error while the embedded store accepts no writes, nil otherwise. The error
// is of kind problem.Unavailable.
func (l *Log) StoreErr() error { return l.store.StoreErr() }
