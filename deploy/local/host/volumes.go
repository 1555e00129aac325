package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// OpenVolumes makes all volumes in dir writable for every user, including volumes that are
// created until ctx ends. The provisioner of Kubernetes creates volumes that only root can
// write, and ignores the fsGroup of pods.
func OpenVolumes(ctx context.Context, dir string) error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return fmt.Errorf("watch the volumes: %w", err)
	}
	watch := os.NewFile(uintptr(fd), "inotify")
	defer watch.Close()
	if _, err := unix.InotifyAddWatch(fd, dir, unix.IN_CREATE|unix.IN_MOVED_TO|unix.IN_ONLYDIR); err != nil {
		return fmt.Errorf("watch the volumes in %s: %w", dir, err)
	}
	defer context.AfterFunc(ctx, func() { watch.Close() })()
	for events := make([]byte, 64<<10); ; {
		if err := openAll(dir); err != nil {
			return err
		}
		if _, err := watch.Read(events); err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return fmt.Errorf("watch the volumes in %s: %w", dir, err)
		}
	}
}

// openAll makes all existing volumes writable.
func openAll(dir string) error {
	volumes, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	for _, volume := range volumes {
		if err := os.Chmod(volume, 0o777); err != nil && !errors.Is(err, fs.ErrNotExist) { // the volume may be deleted already
			return fmt.Errorf("open the volume %s: %w", volume, err)
		}
	}
	return nil
}
