package host

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestVolumesAreOpenToAllUsers(t *testing.T) {
	dir := t.TempDir()
	before := volume(t, dir, "before")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- OpenVolumes(ctx, dir) }()
	awaitMode(t, before)
	awaitMode(t, volume(t, dir, "later"))
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func volume(t *testing.T, dir, name string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.Mkdir(path, 0o750); err != nil {
		t.Fatal(err)
	}
	return path
}

// awaitMode waits until everybody may write: nothing tells when it is so.
func awaitMode(t *testing.T, path string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() == 0o777 {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("%s still has mode %s", path, info.Mode())
		}
	}
}
