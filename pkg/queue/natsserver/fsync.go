package natsserver

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Fsync returns once all data of the store is on disk, whatever Config.SyncAlways says. NATS
// never syncs the directories of a new stream, and without SyncAlways it does not sync the
// file with the configuration of the stream. A power failure can therefore take away a stream
// with all its data.
func (n *Server) Fsync() error { return syncFilesystem(n.config.Dir) }

// syncFilesystem syncs the file system that contains dir.
func syncFilesystem(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync the store: %w", err)
	}
	defer d.Close()
	if err := unix.Syncfs(int(d.Fd())); err != nil {
		return fmt.Errorf("sync the disk of %s: %w", dir, err)
	}
	return nil
}
