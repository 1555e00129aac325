package natsserver

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Fsync returns once everything that the store holds is on disk, whatever
// Config.SyncAlways says. It is for what has to last as a whole: NATS syncs
// neither the directories of a new stream nor, without SyncAlways, the file that
// says what the stream is, and a power cut takes the stream away with all that
// it holds.
func (n *Server) Fsync() error { return syncFilesystem(n.config.Dir) }

// syncFilesystem syncs the file system that dir is on.
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
