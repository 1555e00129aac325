package natsserver

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"k8s-cli/test/testkit/must"
)

// While the store stays closed because it cannot be reopened, StoreErr says why.
func TestStoreThatCannotBeReopened(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	n := start(t, Config{Dir: dir})
	obstacle := filepath.Join(dir, "anew")
	must.Succeed(t, os.Mkdir(obstacle, 0o700))
	must.Succeed(t, os.WriteFile(filepath.Join(dir, server.JetStreamStoreDir, "file"), nil, 0o600))
	shutDown(n.current())
	w := storeMonitor{server: n, lastHealthy: time.Now()}
	w.check(t.Context()) // NATS may report a failure for a moment
	for range 2 {
		w.check(t.Context())
		if err := n.StoreErr(); err == nil || !strings.Contains(err.Error(), "broken (is a directory)") {
			t.Errorf("error %v", err)
		}
	}
	must.Succeed(t, os.Remove(obstacle))
	w.lastReopen = time.Time{}
	w.check(t.Context())
	if err := n.StoreErr(); err != nil || !n.Healthy() {
		t.Errorf("after the store was reopened: %v", err)
	}
}

func TestAFileIsReplacedWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path, by := filepath.Join(dir, "file"), filepath.Join(dir, "anew")
	must.Write(t, path, "content")
	before, err := os.Stat(path)
	must.Succeed(t, err)
	must.Succeed(t, copyOver(path, by, 0o640))
	after, err := os.Stat(path)
	if err != nil || os.SameFile(before, after) || after.Mode().Perm() != 0o640 {
		t.Errorf("%v, %+v", err, after)
	}
	if raw, err := os.ReadFile(path); string(raw) != "content" || err != nil {
		t.Errorf("%q, %v", raw, err)
	}
	for _, missing := range [][2]string{{filepath.Join(dir, "none"), by}, {path, filepath.Join(dir, "none", "anew")}} {
		if err := copyOver(missing[0], missing[1], 0o600); err == nil {
			t.Errorf("copied %q", missing)
		}
	}
	if left, err := os.ReadDir(dir); len(left) != 1 || err != nil {
		t.Errorf("files %v, %v", left, err)
	}
}
